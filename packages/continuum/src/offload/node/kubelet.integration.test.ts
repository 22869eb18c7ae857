import assert from "node:assert/strict";
import { type ChildProcess, spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { connect } from "node:net";
import { text } from "node:stream/consumers";
import { after, before, describe, test } from "node:test";
import { type KubeClient, Node, Pod } from "@fjord/kube";
import { findBinaries } from "@fjord/testbed";
import { Continuum, fjord } from "@fjord/testbed/agents";
import {
  type KubectlVersion,
  kubectlProgram,
  kubernetesSkip,
  metricsServerSkip,
  oldKubectlSkip,
  realNodesSkip,
  startMetricsServer,
  startTestBed,
  testedKubectls,
  testedMinors,
  testNodes,
} from "@fjord/testbed/testing";
import { eventually, kubectlOf } from "./test-continuum.ts";

const skip = kubernetesSkip() || kubernetesSkip("1.35") || realNodesSkip();
const spdy = { KUBECTL_REMOTE_COMMAND_WEBSOCKETS: "false", KUBECTL_PORT_FORWARD_WEBSOCKETS: "false" };

describe("kubectl on pods behind a border", { skip, timeout: 300_000 }, () => {
  let continuum: Continuum;
  let client: KubeClient;

  before(async () => {
    const bed = await startTestBed({ sites: 2, nodes: { count: 1, provider: testNodes(), sites: ["site-2"] } });
    continuum = new Continuum(bed);
    await continuum.startAgents({ timeout: 120_000 });
    await continuum.share("site-2");
    await continuum.peer("site-1", "site-2", "--cpu=4", "--memory=8Gi", "--pods=50");
    client = continuum.client("site-1");
    const kubectl = kubectlOf(continuum, "site-1");
    await kubectl(["create", "namespace", "shop"]);
    await fjord(continuum.site("site-1"), "offload", "shop");
    await client.create(Pod, podOf("web", SERVER));
    await client.create(Pod, podOf("crashing", ["sh", "-c", "echo run $(date +%s); sleep 1; exit 1"]));
    await eventually(
      "running pod",
      async () => {
        const { status } = await client.get(Pod, { name: "web", namespace: "shop" });
        return status?.containerStatuses?.[0]?.ready;
      },
      90_000,
    );
  });
  after(async () => {
    await client?.close();
    await continuum?.[Symbol.asyncDispose]();
  });

  for (const minor of oldKubectlSkip() ? testedMinors() : testedKubectls()) {
    for (const [way, env] of [
      ["WebSocket", {}],
      ["SPDY", spdy],
    ] as const) {
      const kubectl = (args: readonly string[], input = "") =>
        kubectlOf(continuum, "site-1", minor)(["--namespace=shop", ...args], { input, env });

      test(`${minor} over ${way}: exec, with input, exit codes, and words for what fails`, async () => {
        const said = await kubectl(["exec", "web", "--", "sh", "-c", "echo out; echo err >&2; exit 3"]);
        assert.deepEqual([said.stdout, said.exitCode], ["out\n", 3], said.stderr);
        assert.match(said.stderr, /^err\n/);
        const bytes = randomBytes(1_000_000).toString("base64");
        assert.equal((await kubectl(["exec", "-i", "web", "--", "wc", "-c"], bytes)).stdout.trim(), `${bytes.length}`);
        const missing = await kubectl(["exec", "web", "--", "/no/such/program"]);
        assert.notEqual(missing.exitCode, 0);
        assert.match(missing.stderr, /no such file or directory|not found/);
      });

      test(`${minor} over ${way}: exec -it has a terminal of the right size`, async () => {
        // The size follows a moment after the terminal.
        const size =
          'i=0; until s=$(stty size 2>/dev/null); test -n "$s" || test $((i += 1)) = 100; do sleep 0.1; done';
        const shell = `test -t 0 && test -t 1 && echo a terminal; ${size}; echo $s; exit 4`;
        const command = [
          kubectlProgram(minor),
          "--kubeconfig",
          continuum.site("site-1").kubeconfig,
          "--namespace=shop",
        ];
        const all = [...command, "exec", "-it", "web", "--", "sh", "-c", `'${shell}'`].join(" ");
        // What is run in a terminal: script(1) is in every Debian.
        const child = spawn("script", ["-qec", `stty rows 31 cols 77; ${all}`, "/dev/null"], {
          env: { PATH: process.env.PATH, HOME: "/tmp", ...env },
        });
        const [said, [code]] = await Promise.all([text(child.stdout), once(child, "exit")]);
        assert.match(said, /a terminal\r?\n31 77/);
        assert.equal(code, 4, said);
      });

      test(`${minor} over ${way}: many commands at once`, async () => {
        const many = await Promise.all(
          Array.from({ length: 8 }, (_, i) => kubectl(["exec", "web", "--", "echo", `${i}`])),
        );
        // Servers begin with an empty message, and an older kubectl says so where it comes before it listens.
        const early = /^E\d+ .*Unknown stream id 1, discarding message\n/gm;
        assert.deepEqual(
          many.map(({ stdout, stderr }) => stdout + stderr.replace(early, "")),
          many.map((_, i) => `${i}\n`),
        );
      });

      test(`${minor} over ${way}: attach`, async () => {
        const child = start(minor, env, ["attach", "web"]);
        const [first] = await once(child.stdout as NodeJS.ReadableStream, "data");
        assert.match(String(first), /tick/);
        child.kill("SIGKILL");
      });

      test(`${minor} over ${way}: port-forward, many at once, half-closed, and to a closed port`, async () => {
        const child = start(minor, env, ["port-forward", "pod/web", ":8080", ":9"]);
        const errors = text(child.stderr as NodeJS.ReadableStream);
        let said = "";
        child.stdout?.on("data", (part) => {
          said += part;
        });
        await eventually("forwarded ports", () => (said.match(/127\.0\.0\.1:\d+ ->/g) ?? []).length === 2);
        const [port, closed] = [...said.matchAll(/127\.0\.0\.1:(\d+) ->/g)].map((match) => Number(match[1]));
        const answers = await Promise.all(
          Array.from({ length: 10 }, async () => (await fetch(`http://127.0.0.1:${port}/index.html`)).text()),
        );
        assert.deepEqual(new Set(answers), new Set(["hello from afar\n"]));
        // Whoever has said all that it wants to say still hears the answer.
        const socket = connect(port as number, "127.0.0.1");
        socket.end("GET /index.html HTTP/1.0\r\n\r\n");
        assert.match(await text(socket), /hello from afar/);
        const aborted = connect(port as number, "127.0.0.1");
        await once(aborted, "connect");
        aborted.destroy();
        const refused = connect(closed as number, "127.0.0.1");
        refused.on("error", () => {});
        refused.resume();
        await new Promise((resolve) => refused.once("close", resolve));
        child.kill("SIGTERM");
        assert.match(await errors, /refused/);
      });
    }

    test(`${minor}: logs, whole, from the end, since a time, cut, followed, and of the container before`, async () => {
      const kubectl = (args: readonly string[]) => kubectlOf(continuum, "site-1", minor)(["--namespace=shop", ...args]);
      const lines = (await kubectl(["logs", "web"])).stdout.trim().split("\n");
      assert.equal(lines[0], "tick 1");
      const tail = (await kubectl(["logs", "web", "--tail=2", "--timestamps"])).stdout.trim().split("\n");
      assert.equal(tail.length, 2);
      assert.match(tail[1] ?? "", /^\d{4}-\S+Z tick \d+$/);
      assert.equal((await kubectl(["logs", "web", "--limit-bytes=4"])).stdout, "tick");
      const recent = (await kubectl(["logs", "web", "--since=3s"])).stdout.trim().split("\n");
      assert.ok(recent.length <= 5 && recent.length < lines.length + 5, `${recent.length}`);
      const child = start(minor, {}, ["logs", "-f", "--tail=1", "web"]);
      for (let i = 0; i < 3; i++) await once(child.stdout as NodeJS.ReadableStream, "data");
      child.kill("SIGKILL");
      const previous = await eventually("log of the container before", async () => {
        const { stdout, exitCode } = await kubectl(["logs", "crashing", "--previous"]);
        // A kubelet that has just removed it says so in the place of the log, and has another one soon.
        return exitCode === 0 && /^run \d+$/m.test(stdout) && stdout;
      });
      assert.match(previous, /^run \d+$/m);
      const none = await kubectl(["logs", "web", "--previous"]);
      assert.equal(none.exitCode, 1);
      assert.match(none.stderr, /previous terminated container "main" in pod "web" not found/);
    });
  }

  test("the API server believes the kubelet API's certificate, which the cluster has signed", async () => {
    const secret = await eventually(
      "certificate",
      async () => {
        const { exitCode, stdout } = await kubectlOf(
          continuum,
          "site-1",
        )(["--namespace=fjord-system", "get", "secret", "fjord-node-site-2", "--output=jsonpath={.data.tls\\.crt}"]);
        return exitCode === 0 && stdout;
      },
      60_000,
    );
    assert.match(Buffer.from(secret, "base64").toString(), /BEGIN CERTIFICATE/);
  });

  test("kubectl top shows what offloaded pods and virtual nodes use", { skip: metricsServerSkip() }, async () => {
    const { binaries } = findBinaries({ env: process.env, sets: ["control-plane", "metrics-server"] });
    await startMetricsServer(continuum.site("site-1"), { binaries, timeout: 120_000 });
    const kubectl = kubectlOf(continuum, "site-1");
    const pods = await eventually(
      "usage of the pod",
      async () => {
        const { stdout } = await kubectl(["--namespace=shop", "top", "pod", "web", "--no-headers"]);
        return /^web\s+(\d+)m\s+(\d+)Mi/.exec(stdout) ?? undefined;
      },
      90_000,
    );
    assert.ok(Number(pods[2]) < 500, pods[0]);
    if (!oldKubectlSkip()) {
      const { stdout } = await kubectlOf(continuum, "site-1", "old")(["--namespace=shop", "top", "pod", "web"]);
      assert.match(stdout, /^web\s+\d+m\s+\d+Mi/m);
    }
    const { stdout } = await kubectl(["top", "node", "--no-headers"]);
    assert.match(stdout, /^site-2\s+\d+m\s+\d+%\s+\d+Mi/m);
    const { addresses } = (await client.get(Node, { name: "site-2" })).status ?? {};
    assert.ok(addresses?.length);
  });

  function start(minor: KubectlVersion, env: Record<string, string>, args: readonly string[]): ChildProcess {
    const command = ["--kubeconfig", continuum.site("site-1").kubeconfig, "--namespace=shop", ...args];
    return spawn(kubectlProgram(minor), command, { env: { PATH: process.env.PATH, HOME: "/tmp", ...env } });
  }
});

const SERVER = [
  "sh",
  "-c",
  "mkdir -p /tmp/www; echo hello from afar > /tmp/www/index.html; httpd -p 8080 -h /tmp/www; i=0; while true; do i=$((i+1)); echo tick $i; sleep 1; done",
];

function podOf(name: string, command: string[]): Pod {
  return {
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name, namespace: "shop" },
    spec: {
      nodeName: "site-2",
      terminationGracePeriodSeconds: 1,
      tolerations: [{ operator: "Exists" }],
      containers: [{ name: "main", image: "busybox:1", command, imagePullPolicy: "IfNotPresent" }],
    },
  };
}
