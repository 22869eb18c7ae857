import assert from "node:assert/strict";
import { type ChildProcess, type SpawnOptions, spawn } from "node:child_process";
import { createHash, randomBytes } from "node:crypto";
import { once } from "node:events";
import { appendFile, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import { type AddressInfo, connect } from "node:net";
import { networkInterfaces, tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { after, before, describe, it } from "node:test";
import { silentLogger } from "@fjord/base";
import { KubeClient, Node, Pod } from "@fjord/kube";
import { Authority, findBinaries, type KubernetesMinor, siteFiles } from "@fjord/testbed";
import { freePort, kubernetesSkip, startTestSite, type TestSite } from "@fjord/testbed/testing";
import { formatRecord } from "../logs/index.ts";
import { Guard } from "./guard.ts";
import { KubeletServer } from "./kubelet-server.ts";
import { ApiReviewer } from "./reviewer.ts";
import { TestBackend } from "./test-backend.ts";

const START = Date.now() - 3_600_000;
const lines = (from: number, to: number) =>
  Array.from({ length: to - from }, (_, i) => {
    const time = new Date(START + (from + i) * 1000).toISOString();
    return formatRecord(time, "stdout", false, `line ${from + i}`);
  }).join("");
const shown = (from: number, to: number) => Array.from({ length: to - from }, (_, i) => `line ${from + i}\n`).join("");

// API servers pass no requests on to loopback addresses, unless they are for logs or streams.
const outside = Object.values(networkInterfaces())
  .flat()
  .find((face) => face?.family === "IPv4" && !face.internal)?.address;
const host = outside ?? "127.0.0.1";

export interface Scene {
  readonly minor: KubernetesMinor;
  /** Whether the node says that it takes WebSockets, so that API servers pass them on. */
  readonly declares: boolean;
}

/** What real kubectl does through a real API server, with a node whose backend is this machine. */
export function testKubectl({ minor, declares }: Scene): void {
  const title = `kubectl ${minor} through a real API server${declares ? " that passes WebSockets on" : ""}`;
  describe(title, { skip: kubernetesSkip(minor), timeout: 300_000 }, () => {
    const backend = new TestBackend();
    const stop = new AbortController();
    let site: TestSite;
    let directory: string;
    let done: Promise<void>;
    let kubectlFile: string;
    let client: KubeClient;

    before(async () => {
      directory = await mkdtemp(join(tmpdir(), "fjord-kubectl-"));
      const { binaries } = findBinaries({ env: process.env, minors: [minor] });
      kubectlFile = binaries.path("kubectl", minor);
      site = await startTestSite({ kubernetes: minor });
      client = new KubeClient(site.config);
      const { pki } = siteFiles(site.site.layout);
      const authority = await Authority.load(pki, "ca");
      const { certificate: cert, key } = await authority.issue(
        { commonName: "system:node:test", addresses: [host] },
        Date.now(),
      );
      const guard = new Guard({ reviewer: new ApiReviewer(client), nodeName: "test" });
      const server = new KubeletServer({
        backend,
        guard,
        tls: { cert, key, clientCa: authority.certificate },
        host,
        port: 0,
        log: silentLogger,
      });
      await server.listen();
      done = server.run(stop.signal);
      await addObjects(server.address.port);
      for (const name of ["main", "main/previous"]) {
        const file = join(directory, `${name.replace("/", "-")}.log`);
        await writeFile(file, name === "main" ? lines(0, 10) : lines(100, 103));
        backend.logFiles.set(name, file);
      }
    });

    after(async () => {
      stop.abort();
      await done;
      await client?.close();
      await site?.stop();
      await rm(directory, { recursive: true, force: true });
    });

    async function addObjects(port: number): Promise<void> {
      const node = await client.create(Node, { apiVersion: "v1", kind: "Node", metadata: { name: "test" } });
      await client.patch(
        Node,
        { name: "test" },
        "merge",
        {
          metadata: { resourceVersion: node.metadata?.resourceVersion },
          status: {
            addresses: [{ type: "InternalIP", address: host }],
            daemonEndpoints: { kubeletEndpoint: { Port: port } },
            ...(declares && { declaredFeatures: ["ExtendWebSocketsToKubelet"] }),
          },
        },
        { subresource: "status" },
      );
      await client.raw("POST", "/api/v1/namespaces/default/serviceaccounts", {
        body: { metadata: { name: "default" } },
      });
      await client.create(Pod, {
        apiVersion: "v1",
        kind: "Pod",
        metadata: { name: "web", namespace: "default" },
        spec: {
          nodeName: "test",
          containers: [{ name: "main", image: "busybox", stdin: true }],
        },
      });
      const pod = await client.patch(
        Pod,
        { name: "web", namespace: "default" },
        "merge",
        {
          status: {
            phase: "Running",
            containerStatuses: [
              {
                name: "main",
                ready: true,
                restartCount: 1,
                image: "busybox",
                imageID: "",
                state: { running: { startedAt: new Date().toISOString() } },
                lastState: { terminated: { exitCode: 1, containerID: "test://1" } },
              },
            ],
          },
        },
        { subresource: "status" },
      );
      backend.list.push(pod);
    }

    function start(args: readonly string[], options: SpawnOptions = {}): ChildProcess {
      return spawn(kubectlFile, ["--kubeconfig", site.kubeconfig, ...args], {
        stdio: ["pipe", "pipe", "pipe"],
        ...options,
        env: { PATH: process.env.PATH, HOME: directory, ...options.env },
      });
    }

    async function kubectl(args: readonly string[], input?: string | Buffer, env: Record<string, string> = {}) {
      const child = start(args, { env });
      child.stdin?.on("error", () => {});
      child.stdin?.end(input);
      const [out, err, [code]] = await Promise.all([
        text(child.stdout as NodeJS.ReadableStream),
        text(child.stderr as NodeJS.ReadableStream),
        once(child, "exit"),
      ]);
      return { out, err, code };
    }

    const spdy = { KUBECTL_REMOTE_COMMAND_WEBSOCKETS: "false", KUBECTL_PORT_FORWARD_WEBSOCKETS: "false" };

    it("shows logs: the last lines, since a time, with times, of the container before", async () => {
      assert.equal((await kubectl(["logs", "web"])).out, shown(0, 10));
      assert.equal((await kubectl(["logs", "web", "--tail=3"])).out, shown(7, 10));
      assert.match((await kubectl(["logs", "web", "--timestamps", "--tail=1"])).out, /^\d{4}-.*Z line 9\n$/);
      assert.equal((await kubectl(["logs", "web", "--previous"])).out, shown(100, 103));
      assert.equal((await kubectl(["logs", "web", "--limit-bytes=5"])).out, "line ");
      const since = new Date(START + 8000).toISOString().replace(/\.\d+/, "");
      assert.equal((await kubectl(["logs", "web", `--since-time=${since}`])).out.slice(-14), shown(8, 10));
      const { err, code } = await kubectl(["logs", "web", "-c", "other"]);
      assert.equal(code, 1);
      assert.match(err, /container other is not valid for pod web/);
    });

    it("follows a log until the container ends", async () => {
      const child = start(["logs", "-f", "--tail=1", "web"]);
      const file = backend.logFiles.get("main") as string;
      const out = child.stdout as NodeJS.ReadableStream;
      let said = "";
      out.on("data", (part) => (said += part));
      const hears = async (all: string) => {
        while (said.length < all.length) await once(out, "data");
        assert.equal(said, all);
      };
      await hears(shown(9, 10));
      await appendFile(file, lines(10, 11));
      await hears(shown(9, 11));
      await appendFile(file, lines(11, 12));
      backend.ended.resolve();
      await once(child, "close");
      assert.equal(said, shown(9, 12));
    });

    for (const [name, env] of [
      ["WebSocket", {}],
      ["SPDY", spdy],
    ] as const) {
      it(`runs commands over ${name}: output, input to its end, exit codes`, async () => {
        const said = await kubectl(["exec", "web", "--", "sh", "-c", "echo out; echo err >&2; exit 3"], "", env);
        assert.deepEqual({ ...said, err: said.err.split("\n")[0] }, { out: "out\n", err: "err", code: 3 });
        assert.match(said.err, /command terminated with exit code 3/);
        const bytes = randomBytes(5_000_000).toString("base64");
        const counted = await kubectl(["exec", "-i", "web", "--", "sha256sum"], bytes, env);
        assert.equal(counted.out, `${createHash("sha256").update(bytes).digest("hex")}  -\n`);
        const much = await kubectl(["exec", "web", "--", "sh", "-c", "yes | head -c 20000000"], "", env);
        assert.equal(much.out.length, 20_000_000);
        assert.equal(much.code, 0);
      });

      it(`says over ${name} why a command cannot be run`, async () => {
        const { err, code } = await kubectl(["exec", "web", "--", "/no/such/program"], "", env);
        assert.equal(code, 1);
        assert.match(err, /ENOENT/);
      });

      it(`gives a command a terminal over ${name}, with its size`, async () => {
        backend.sizes.length = 0;
        const line = `stty cols 93 rows 41; ${kubectlFile} --kubeconfig ${site.kubeconfig} exec -it web -- 'tty; echo size ok; read go; exit 5'; echo code $?`;
        const child = spawn("script", ["-qec", line, "/dev/null"], {
          stdio: ["pipe", "pipe", "pipe"],
          env: { PATH: process.env.PATH, HOME: directory, TERM: "xterm", ...env },
        });
        const said = text(child.stdout);
        // The size follows a moment after the terminal: the command waits for that.
        while (backend.sizes.length === 0 && child.exitCode === null) await new Promise((done) => setTimeout(done, 20));
        child.stdin.write("go\n");
        const out = await said;
        assert.match(out, /\/dev\/pts\/\d+/);
        assert.match(out, /size ok/);
        assert.match(out, /code 5/);
        assert.deepEqual(backend.sizes[0], { columns: 93, rows: 41 });
      });

      it(`kills a command over ${name} when its client goes`, async () => {
        const child = start(["exec", "-i", "web", "--", "sh", "-c", "echo go; sleep 1000"], { env });
        await once(child.stdout as NodeJS.ReadableStream, "data");
        assert.equal(backend.running.size, 1);
        child.kill("SIGKILL");
        while (backend.running.size > 0) await new Promise((resolve) => setTimeout(resolve, 20));
      });

      it(`attaches to a container over ${name}`, async () => {
        const { out } = await kubectl(["attach", "-i", "web"], "hello\n", env);
        assert.match(out, /attached\nhello\n/);
      });

      it(`forwards ports over ${name}, and says what is wrong with one`, async () => {
        const web = createServer((request, response) => response.end(`you asked for ${request.url}`));
        web.listen(0, "127.0.0.1");
        await once(web, "listening");
        const { port } = web.address() as AddressInfo;
        const closed = await freePort();
        const child = start(["port-forward", "pod/web", `:${port}`, `:${closed}`], { env });
        let said = "";
        child.stdout?.on("data", (part) => (said += part));
        const errors = text(child.stderr as NodeJS.ReadableStream);
        while ((said.match(/127\.0\.0\.1:\d+ ->/g) ?? []).length < 2)
          await once(child.stdout as NodeJS.ReadableStream, "data");
        const [first, second] = [...said.matchAll(/127\.0\.0\.1:(\d+) ->/g)].map((match) => Number(match[1]));
        const answers = await Promise.all(
          Array.from({ length: 20 }, async (_, i) => (await fetch(`http://127.0.0.1:${first}/${i}`)).text()),
        );
        assert.deepEqual(
          answers,
          Array.from({ length: 20 }, (_, i) => `you asked for /${i}`),
        );
        const socket = connect(second as number, "127.0.0.1");
        socket.resume();
        socket.on("error", () => {});
        await new Promise((resolve) => socket.once("close", resolve));
        child.kill("SIGTERM");
        assert.match(await errors, /ECONNREFUSED/);
        web.close();
        web.closeAllConnections();
      });
    }

    it("serves clients that give each port two channels of a WebSocket", async () => {
      const web = createServer((request, response) => response.end(`you asked for ${request.url}`));
      web.listen(0, "127.0.0.1");
      await once(web, "listening");
      const { port } = web.address() as AddressInfo;
      const stream = await client.portForward({ name: "web", namespace: "default" }, { port });
      stream.write("GET /channels HTTP/1.1\r\nHost: web\r\nConnection: close\r\n\r\n");
      assert.match(await text(stream), /you asked for \/channels/);
      const closed = await client.portForward({ name: "web", namespace: "default" }, { port: await freePort() });
      await assert.rejects(text(closed), /ECONNREFUSED/);
      web.close();
      web.closeAllConnections();
    });

    it("copies files to and fro", async () => {
      const source = join(directory, "source.bin");
      const there = join(directory, "there.bin");
      const back = join(directory, "back.bin");
      await writeFile(source, randomBytes(3_000_000));
      assert.equal((await kubectl(["cp", source, `web:${there}`])).err, "");
      assert.equal((await kubectl(["cp", `web:${there}`, back])).code, 0);
      assert.deepEqual(await readFile(back), await readFile(source));
    });

    const noProxy = outside === undefined && "no address but loopback ones";
    it("serves statistics, metrics, pods and its health through the proxy", { skip: noProxy }, async () => {
      const get = async (path: string) => (await kubectl(["get", "--raw", `/api/v1/nodes/test/proxy${path}`])).out;
      assert.equal(await get("/healthz"), "ok");
      assert.match(await get("/metrics/resource"), /^container_cpu_usage_seconds_total\{.*pod="web"\} 5 \d{13}$/m);
      assert.equal(JSON.parse(await get("/stats/summary")).pods[0].podRef.name, "web");
      assert.equal(JSON.parse(await get("/pods")).items[0].metadata.name, "web");
    });
  });
}
