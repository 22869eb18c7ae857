import assert from "node:assert/strict";
import { execFile, spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { testedFjord } from "@fjord/testbed/testing";

const cli = testedFjord();
const folder = mkdtempSync(join(tmpdir(), "fjord-terminal-"));
after(() => rmSync(folder, { recursive: true, force: true }));

const ESCAPE = "\u001b";
const has = (program: string) => spawnSync(program, ["--version"]).error === undefined;
const skip = (program: string) => (has(program) ? false : `there is no ${program} here`);

/** What a terminal shows. */
function inTerminal(command: string, env: Record<string, string> = {}): Promise<string> {
  return new Promise((resolve) => {
    const clean = { ...process.env, TERM: "xterm-256color", ...env };
    // With CI Node colours only for services that it knows.
    for (const name of ["NO_COLOR", "FORCE_COLOR", "NODE_DISABLE_COLORS", "CI"])
      if (env[name] === undefined) delete clean[name as never];
    execFile("script", ["-qec", command, "/dev/null"], { env: clean }, (_, out) => resolve(out));
  });
}

test("errors are coloured on a terminal, and nowhere else", { skip: skip("script") }, async () => {
  const command = `${process.execPath} ${cli} sites --kubeconfig=${folder}/none`;
  assert.ok((await inTerminal(command)).includes(`${ESCAPE}[31merror:${ESCAPE}[39m `));
  assert.ok(!(await inTerminal(command, { NO_COLOR: "1" })).includes(ESCAPE));
  const { stderr, status } = spawnSync(process.execPath, [cli, "sites", `--kubeconfig=${folder}/none`], {
    env: { ...process.env, FORCE_COLOR: undefined },
  });
  assert.equal(status, 1);
  assert.match(stderr.toString(), /^error: /);
});

test("help of a command within another one has the program's options beside its own, and not the other's", () => {
  const { stdout } = spawnSync(process.execPath, [cli, "pair", "token", "--help"]);
  const [own = "", global = ""] = stdout.toString().split("Global Options:");
  assert.match(own, /--ttl <duration>.*--kubeconfig|--kubeconfig.*--ttl <duration>/s);
  assert.match(global, /--quiet/);
  assert.doesNotMatch(global, /--both-ways|--kubeconfig|--name/);
});

test("errors end with their code, and are JSON for whoever asked for that", () => {
  const sites = (...more: string[]) =>
    spawnSync(process.execPath, [cli, "sites", `--kubeconfig=${folder}/none`, ...more]);
  assert.match(sites().stderr.toString(), /^error: .*\n.* \[KUBE_[A-Z_]+\]\n$/);
  const { stdout, stderr, status } = sites("-o", "json");
  assert.deepEqual([stdout.toString(), status], ["", 1]);
  const { error } = JSON.parse(stderr.toString()) as { error: Record<string, string> };
  assert.deepEqual(Object.keys(error), ["code", "message", "advice"]);
  assert.match(error.code ?? "", /^KUBE_/);
});

test("where no cluster is found, the version for people is this program's, and that for scripts the error alone", () => {
  const version = (...more: string[]) =>
    spawnSync(process.execPath, [cli, "version", `--kubeconfig=${folder}/none`, ...more]);
  const text = version();
  assert.deepEqual([text.status, text.stdout.toString().split(":")[0]], [1, "fjord"]);
  for (const format of ["json", "yaml", "jsonpath={.client.version}"]) {
    const { stdout, stderr, status } = version("-o", format);
    assert.deepEqual([status, stdout.toString()], [1, ""], format);
    assert.match(stderr.toString(), /KUBE_CONFIG_UNREADABLE/);
  }
});

test("what would steer a terminal is spelt out in errors too, whoever typed it", () => {
  const { stderr } = spawnSync(process.execPath, [cli, `lo${ESCAPE}]0;z\u0007`]);
  assert.match(stderr.toString(), /^error: unknown command 'lo\^\[\]0;z\^G'\n/);
});

test("words that cannot be understood are errors like others: with a code, and as JSON for whoever asked for that", () => {
  const fjord = (...words: string[]) => spawnSync(process.execPath, [cli, ...words]);
  for (const [words, said] of [
    [["sites", "--bogus"], "error: unknown option '--bogus'"],
    [["sites", "--contxt=x"], "error: unknown option '--contxt=x' (Did you mean --context?)"],
    [["cordon"], "error: missing required argument 'name'"],
    [["bogus"], "error: unknown command 'bogus'"],
    [["sites", "-o", "bogus"], "error: option '-o, --output <format>' argument 'bogus' is invalid. It is one of"],
    [
      ["network", "test", "-o", "name"],
      "error: option '-o, --output <format>' argument 'name' is invalid. It is one of",
    ],
    [
      ["network", "explain", "web", "data", "-o", "name"],
      "error: option '-o, --output <format>' argument 'name' is invalid. It is one of json, yaml, jsonpath",
    ],
    [["cordon", ""], "error: NAME is empty"],
  ] as const) {
    const { stdout, stderr, status } = fjord(...words);
    assert.deepEqual([status, stdout.toString()], [1, ""]);
    const [first = "", second = "", ...more] = stderr.toString().split("\n");
    assert.ok(first.startsWith(said), first);
    assert.match(second, /--help.* \[CLI_WRONG_USAGE\]$/);
    assert.deepEqual(more, [""]);
  }
  const { error } = JSON.parse(fjord("sites", "--bogus", "-o", "json").stderr.toString()) as { error: object };
  assert.deepEqual(
    { ...error, advice: undefined },
    {
      code: "CLI_WRONG_USAGE",
      message: "unknown option '--bogus'",
      advice: undefined,
    },
  );
});

test("a token that would be good for longer than a week is refused", () => {
  const asked = (ttl: string) =>
    spawnSync(process.execPath, [
      cli,
      "pair",
      "token",
      `--kubeconfig=${folder}/none`,
      `--ttl=${ttl}`,
    ]).stderr.toString();
  assert.match(asked("1000000h"), /--ttl cannot be 1000000h: .* none is good for more than a week \(7d\)/);
  assert.match(asked("7d"), /KUBE_CONFIG_UNREADABLE/);
});

test("a group of commands that is asked for none answers with its help; an unknown one is a mistake", () => {
  const fjord = (...words: string[]) => {
    const { stdout, stderr, status } = spawnSync(process.execPath, [cli, ...words]);
    return [status, /^Usage: (.*) \[/.exec(stdout.toString())?.[1], stderr.toString().split("\n")[0]];
  };
  assert.deepEqual(fjord(), [0, "fjord [options]", ""]);
  assert.deepEqual(fjord("network"), [0, "fjord network [options]", ""]);
  assert.deepEqual(fjord("-h", "sites"), [0, "fjord sites [options]", ""]);
  assert.deepEqual(fjord("network", "bogus"), [1, undefined, "error: unknown command 'bogus'"]);
  assert.deepEqual(fjord("help", "network", "status"), [0, "fjord network status [options]", ""]);
  assert.deepEqual(fjord("help", "peer", "wave"), [0, "fjord peer", ""]);
  assert.deepEqual(fjord("help", "site"), [1, undefined, "error: unknown command 'site' (did you mean sites?)"]);
});

test("help says once what an option is by default", () => {
  const help = (...words: string[]) => spawnSync(process.execPath, [cli, ...words, "--help"]).stdout.toString();
  const text = help("micro", "run") + help("logs");
  assert.doesNotMatch(text, /default:\s+(false|\[\])/);
  assert.match(text, /\(default:\s+"7446"\)/);
});

test("what is handed on to the test bed arrives there, and so does what it ends with", () => {
  const program = join(folder, "testbed.mjs");
  writeFileSync(program, "console.log(JSON.stringify(process.argv.slice(2))); process.exit(7);");
  const run = (file: string, words = ["up", "--sites", "2", "-q"]) =>
    spawnSync(process.execPath, [cli, "testbed", ...words], { env: { ...process.env, FJORD_TESTBED: file } });
  const { stdout, status } = run(program);
  assert.deepEqual([stdout.toString(), status], ['["up","--sites","2","-q"]\n', 7]);
  const none = run(join(folder, "none.mjs"));
  assert.equal(none.status, 1);
  assert.match(none.stderr.toString(), /the test bed is not here: .*\nIt comes with a checkout/);
  const help = run(join(folder, "none.mjs"), ["--help"]);
  assert.equal(help.status, 0);
  assert.match(
    help.stdout.toString(),
    /^Usage: fjord testbed [\s\S]*\nThe test bed is not here: .*\nIt comes with a checkout/,
  );
});

/** A site whose peers, pods and API mean harm. */
function hostileApi() {
  const harm = `${ESCAPE}]0;owned\u0007${ESCAPE}[2J\u009b1A`;
  const site = {
    apiVersion: "fjord.dev/v1alpha1",
    kind: "Site",
    metadata: { name: "wave", creationTimestamp: "2030-01-01T00:00:00Z" },
    spec: {},
    status: { role: "Peer", published: { tier: "edge", location: { region: `${harm}north` } }, conditions: [] },
  };
  const pod = {
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name: "web", namespace: "default" },
    spec: { nodeName: "wave", containers: [{ name: "web" }] },
    status: {
      phase: "Pending",
      containerStatuses: [
        {
          name: "web",
          restartCount: 0,
          ready: false,
          state: { waiting: { reason: "Bad", message: `${harm}\nimage` } },
        },
      ],
    },
  };
  const server = createServer((request, response) => {
    const path = new URL(request.url ?? "", "http://x").pathname;
    const list = (kind: string, items: readonly object[]) =>
      response
        .setHeader("content-type", "application/json")
        .end(JSON.stringify({ kind, apiVersion: "v1", metadata: {}, items }));
    if (path.endsWith("/sites")) return list("SiteList", [site]);
    if (path.endsWith("/pods/web/log")) return response.end(`${ESCAPE}[32mgreen\n${harm}served\n`);
    if (path.endsWith("/pods/web"))
      return response.setHeader("content-type", "application/json").end(JSON.stringify(pod));
    if (/\/(virtualnodes|contracts|peerings|events)$/.test(path)) return list("List", []);
    const refusal = {
      kind: "Status",
      apiVersion: "v1",
      status: "Failure",
      reason: "NotFound",
      code: 404,
      message: harm,
    };
    return response.writeHead(404, { "content-type": "application/json" }).end(JSON.stringify(refusal));
  });
  return new Promise<{ flags: string; close: () => void }>((resolve) => {
    server.listen(0, "127.0.0.1", () => {
      const file = join(folder, "hostile.kubeconfig");
      const { port } = server.address() as AddressInfo;
      const named = { "current-context": "x", contexts: [{ name: "x", context: { cluster: "x", user: "x" } }] };
      const clusters = [{ name: "x", cluster: { server: `http://127.0.0.1:${port}` } }];
      writeFileSync(file, JSON.stringify({ ...named, clusters, users: [{ name: "x", user: {} }] }));
      resolve({ flags: `--kubeconfig=${file}`, close: () => void server.close() });
    });
  });
}

test("nothing that sites, pods and APIs say steers a terminal", { skip: skip("script") }, async () => {
  const { flags, close } = await hostileApi();
  const spelt = "^[]0;owned^G^[[2J\\u009b1A";
  try {
    for (const [words, said] of [
      ["sites", `${spelt}north`],
      ["sites -o json", "\\u009b1Anorth"],
      ["sites -o yaml", "\\u009b1Anorth"],
      ["explain web", `${spelt} image`],
      ["logs web", `${ESCAPE}[32mgreen${ESCAPE}[0m\r\n${spelt}served`],
      ["logs web --prefix", `${spelt}served`],
      ["logs away", spelt],
    ] as const) {
      const printed = await inTerminal(`${process.execPath} ${cli} ${words} ${flags}`);
      assert.ok(printed.includes(said), `${words}: ${JSON.stringify(printed)}`);
      // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for.
      assert.doesNotMatch(printed.replaceAll(/\u001b\[\d+m/g, ""), /(?![\r\n\t])\p{Cc}/u, words);
    }
  } finally {
    close();
  }
});
