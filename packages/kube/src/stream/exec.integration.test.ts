import assert from "node:assert/strict";
import { createHash, randomBytes } from "node:crypto";
import { once } from "node:events";
import { connect } from "node:net";
import { PassThrough, Readable } from "node:stream";
import { text } from "node:stream/consumers";
import { after, before, describe, it } from "node:test";
import { realNodesSkip, startTestBed, testNodes } from "@fjord/testbed/testing";
import { KubeClient } from "../client/client.ts";
import type { ClusterConfig } from "../config/cluster-config.ts";
import { attach, exec } from "./exec.ts";
import { portForward } from "./port-forward.ts";
import { listenPortForward } from "./port-forward-listener.ts";

const pods = { group: "", version: "v1", kind: "Pod", plural: "pods", namespaced: true } as const;
const web = {
  apiVersion: "v1",
  kind: "Pod",
  metadata: { name: "web", namespace: "default" },
  spec: {
    terminationGracePeriodSeconds: 0,
    containers: [
      {
        name: "web",
        image: "busybox:1",
        command: ["sh", "-c", "exec httpd -f -p 8080 -h /etc"],
        readinessProbe: { httpGet: { path: "/hostname", port: 8080 }, periodSeconds: 1 },
      },
      // Gives back each line until it is told to stop.
      {
        name: "talker",
        image: "busybox:1",
        stdin: true,
        command: ["sh", "-c", 'while read line; do echo "heard $line"; [ "$line" = stop ] && sleep 600; done'],
      },
    ],
  },
};

describe("streams of real pods", { skip: realNodesSkip(), timeout: 180_000 }, () => {
  let stop: () => Promise<void>;
  let config: ClusterConfig;

  before(async () => {
    const bed = await startTestBed({ sites: 1, nodes: { count: 1, provider: testNodes() } });
    stop = () => bed.stop();
    config = bed.site("site-1").config;
    const client = new KubeClient(config);
    await waitForServiceAccount(client);
    await client.create(pods, web);
    for await (const { object } of client.watch(pods, { namespace: "default" })) {
      if (isReady(object)) break;
    }
    await client.close();
  });

  after(() => stop?.());

  /** Runs a shell script in the web container. */
  async function shell(script: string, stdin?: Readable) {
    const [stdout, stderr] = [new PassThrough(), new PassThrough()];
    const [output, errors] = [text(stdout), text(stderr)];
    const { exitCode } = await exec(config, {
      pod: "web",
      container: "web",
      command: ["sh", "-c", script],
      stdin,
      stdout,
      stderr,
    });
    stdout.end();
    stderr.end();
    return { exitCode, output: await output, errors: await errors };
  }

  it("exec gives output, errors and the exit code", async () => {
    assert.deepEqual(await shell("echo out; echo err >&2; exit 7"), { exitCode: 7, output: "out\n", errors: "err\n" });
    assert.deepEqual(await exec(config, { pod: "web", container: "web", command: ["sh", "-c", "echo x; exit 3"] }), {
      exitCode: 3,
    });
    assert.deepEqual(await shell("true"), { exitCode: 0, output: "", errors: "" });
  });

  it("exec hands the input over, byte for byte, and its end", async () => {
    const input = randomBytes(3 * 1024 * 1024);
    const digest = createHash("sha256").update(input).digest("hex");
    const { exitCode, output } = await shell("sha256sum", Readable.from([input]));
    assert.deepEqual({ exitCode, output }, { exitCode: 0, output: `${digest}  -\n` });
  });

  it("exec brings a large output whole", async () => {
    const { output } = await shell("head -c 5000000 /dev/zero | tr '\\0' x");
    assert.equal(output.length, 5_000_000);
  });

  it("exec gives a terminal with the size asked for", async () => {
    const stdout = new PassThrough();
    const output = text(stdout);
    async function* resize() {
      yield { width: 101, height: 37 };
    }
    const command = ["sh", "-c", 'until stty size 2>/dev/null | grep -q "37 101"; do sleep 0.1; done; stty size'];
    await exec(config, {
      pod: "web",
      container: "web",
      command,
      tty: true,
      stdin: new PassThrough(),
      stdout,
      resize: resize(),
    });
    stdout.end();
    assert.equal(await output, "37 101\r\n");
  });

  it("exec says why a command, a container or a pod is not there", async () => {
    const run = (options: { pod?: string; container?: string; command?: string[] }) =>
      exec(config, { pod: "web", container: "web", command: ["true"], stdout: new PassThrough(), ...options });
    await assert.rejects(run({ pod: "none" }), { statusCode: 404, reason: "NotFound" });
    await assert.rejects(run({ container: "none" }), { statusCode: 400, reason: "BadRequest" });
    await assert.rejects(run({ command: ["no-such-command"] }), /no-such-command/);
  });

  it("exec ends when it is aborted", async () => {
    const abort = new AbortController();
    const stdout = new PassThrough();
    const running = exec(config, {
      pod: "web",
      container: "web",
      command: ["sh", "-c", "echo on; sleep 600"],
      stdout,
      signal: abort.signal,
    });
    const outcome = running.catch((error: unknown) => error);
    await once(stdout, "data");
    abort.abort(new Error("enough"));
    assert.equal(String(await outcome), "Error: enough");
  });

  it("a client runs commands as its user, and cuts them when it is closed", async () => {
    const client = new KubeClient(config);
    const key = { name: "web", namespace: "default" };
    const command = ["sh", "-c", "echo on; sleep 600"];
    assert.deepEqual(await client.exec(key, { container: "web", command: ["sh", "-c", "exit 4"] }), { exitCode: 4 });
    const nobody = client.impersonating({ user: "nobody" });
    await assert.rejects(nobody.exec(key, { container: "web", command }), { reason: "Forbidden" });
    const stdout = new PassThrough();
    const outcome = client.exec(key, { container: "web", command, stdout }).catch((error: unknown) => error);
    await once(stdout, "data");
    await client.close();
    assert.match(String(await outcome), /the client was closed/);
  });

  it("attach talks to the container's own process", async () => {
    const [stdin, stdout, abort] = [new PassThrough(), new PassThrough(), new AbortController()];
    const attached = attach(config, { pod: "web", container: "talker", stdin, stdout, signal: abort.signal });
    const outcome = attached.catch((error: unknown) => error);
    stdin.write("hello\n");
    const [answer] = await once(stdout, "data");
    assert.equal(String(answer), "heard hello\n");
    abort.abort(new Error("enough"));
    assert.equal(String(await outcome), "Error: enough");
  });

  it("port-forward carries an HTTP request", async () => {
    await using listener = await listenPortForward(config, { pod: "web", port: 8080 });
    const answers = await Promise.all(
      [1, 2, 3].map(async () => (await fetch(`http://127.0.0.1:${listener.port}/hostname`)).text()),
    );
    assert.deepEqual(answers, ["web\n", "web\n", "web\n"]);
    const local = connect(listener.port, listener.host);
    local.end("GET /hostname HTTP/1.0\r\n\r\n");
    assert.match(await text(local), /\r\n\r\nweb\n$/);
  });

  it("port-forward says when nothing listens", async () => {
    const stream = await portForward(config, { pod: "web", port: 9999 });
    const [error] = await once(stream.resume(), "error");
    assert.match(error.message, /^cannot forward to port 9999 of Pod default\/web: .*refused/);
  });
});

function isReady(object: unknown): boolean {
  const { status } = object as { status?: { conditions?: { type: string; status: string }[] } };
  return status?.conditions?.some(({ type, status }) => type === "Ready" && status === "True") ?? false;
}

async function waitForServiceAccount(client: KubeClient): Promise<void> {
  const kind = { ...pods, kind: "ServiceAccount", plural: "serviceaccounts" };
  for await (const { object } of client.watch(kind, { namespace: "default" })) {
    if ("name" in object.metadata && object.metadata.name === "default") return;
  }
}
