import assert from "node:assert/strict";
import { connect, createServer } from "node:net";
import { type Duplex, PassThrough, type Readable, Writable } from "node:stream";
import { text } from "node:stream/consumers";
import { after, before, suite, test } from "node:test";
import { sleep, systemClock } from "@fjord/base";
import type { ContainerConfig, SandboxConfig } from "../../runtime/index.ts";
import { CriRuntime } from "./cri-runtime.ts";
import { exampleContainer, examplePod } from "./testing/example-pod.ts";
import { containerdSkip, PrivateContainerd } from "./testing.ts";

suite("streams of containers by containerd", { skip: containerdSkip() }, () => {
  let containerd: PrivateContainerd;
  let runtime: CriRuntime;
  let pod: SandboxConfig;
  let sandbox: string;
  let idle: string;

  before(async () => {
    containerd = await PrivateContainerd.start();
    const { socket, cgroups, dial } = containerd;
    runtime = new CriRuntime({ socket, cgroups, dial });
    pod = examplePod(containerd, "streams");
    sandbox = await runtime.runSandbox(pod);
    idle = await start(exampleContainer("idle", "exec sleep 1000"));
  });

  after(async () => {
    runtime?.close();
    await containerd?.stop();
  });

  const start = async (config: ContainerConfig) => {
    const id = await runtime.createContainer(sandbox, config, pod);
    await runtime.startContainer(id);
    return id;
  };

  /** Runs a script with all streams; gives what came by each. */
  const run = async (script: string, input?: Readable | string) => {
    const stdout = new PassThrough();
    const stderr = new PassThrough();
    const stdin = typeof input === "string" ? given(input) : input;
    const streams = { stdout, stderr, tty: false, ...(stdin && { stdin }) };
    const [exitCode, out, err] = await Promise.all([
      runtime.exec(idle, ["sh", "-c", script], streams),
      text(stdout),
      text(stderr),
    ]);
    return { exitCode, out, err };
  };

  /** Waits until the pod's server takes a connection: it takes one, and then begins anew. */
  const listening = async () => {
    const listens = ["sh", "-c", "netstat -ltn | grep :8080"];
    while ((await runtime.execSync(idle, listens, 30_000)).exitCode !== 0) await sleep(systemClock, 20);
  };

  const given = (content: string) => {
    const stream = new PassThrough();
    stream.end(content);
    return stream;
  };

  test("a command's output, errors and exit code arrive", async () => {
    assert.deepEqual(await run("echo out; echo err >&2; exit 9"), { exitCode: 9, out: "out\n", err: "err\n" });
    assert.deepEqual(await run("exit 0"), { exitCode: 0, out: "", err: "" });
  });

  test("a command reads its input to the end", async () => {
    assert.deepEqual(await run("wc -c; cat >&2", "four"), { exitCode: 0, out: "4\n", err: "" });
  });

  test("a command that does not read its input ends all the same", async () => {
    const endless = new PassThrough();
    endless.write("never read\n");
    assert.deepEqual(await run("exit 4", endless), { exitCode: 4, out: "", err: "" });
  });

  test("much goes through unharmed, both ways", async () => {
    const content = "0123456789abcdef".repeat(256 * 1024);
    const { exitCode, out } = await run("cat", content);
    assert.equal(exitCode, 0);
    assert.ok(out === content, `${out.length} of ${content.length} characters came back`);
  });

  test("a reader that is slow loses nothing", async () => {
    let received = 0;
    const stdout = new Writable({
      write(piece: Buffer, _encoding, done) {
        received += piece.length;
        setImmediate(done);
      },
    });
    await runtime.exec(idle, ["head", "-c", "3000000", "/dev/zero"], { stdout, tty: false });
    assert.equal(received, 3_000_000);
  });

  test("a terminal has a size that changes", async () => {
    const stdout = new PassThrough();
    const stdin = new PassThrough();
    let resize: (() => void) | undefined;
    const changed = new Promise<void>((resolve) => {
      resize = resolve;
    });
    async function* sizes() {
      yield { columns: 101, rows: 33 };
      await changed;
      yield { columns: 55, rows: 22 };
      await new Promise(() => {});
    }
    const command = ["sh", "-c", "while read line; do stty size; done"];
    const done = runtime.exec(idle, command, { stdin, stdout, tty: true, sizes: sizes() });
    let seen = "";
    stdout.setEncoding("utf8").on("data", (piece: string) => {
      seen += piece;
    });
    const until = async (expected: RegExp) => {
      while (!expected.test(seen)) {
        stdin.write("\n");
        await sleep(systemClock, 30);
      }
    };
    await until(/33 101/);
    resize?.();
    await until(/22 55/);
    stdin.write("\x04");
    assert.equal(await done, 0);
  });

  test("a program that is not there is a failure, not an exit code", async () => {
    const streams = { stdout: new PassThrough().resume(), tty: false };
    await assert.rejects(runtime.exec(idle, ["/no-such"], streams), (error: { code: string; message: string }) => {
      assert.match(error.message, /no-such/);
      return error.code === "CRI_COMMAND_FAILED" || error.code === "CRI_CALL_FAILED";
    });
  });

  test("an abort ends the command's streams", async () => {
    const stop = new AbortController();
    const stdout = new PassThrough();
    const done = runtime.exec(idle, ["sh", "-c", "echo here; exec sleep 1000"], { stdout, tty: false }, stop.signal);
    stdout.once("data", () => stop.abort(new Error("enough")));
    await assert.rejects(done, { message: "enough" });
  });

  test("a probe's command gives its code and output, or takes too long", async () => {
    const result = await runtime.execSync(idle, ["sh", "-c", "echo good; echo bad >&2; exit 2"], 30_000);
    assert.deepEqual(result, { exitCode: 2, output: "good\nbad\n" });
    await assert.rejects(runtime.execSync(idle, ["sleep", "100"], 1000), { code: "CRI_COMMAND_TIMED_OUT" });
  });

  test("attaching joins the container's own process", async () => {
    const id = await start(
      exampleContainer("main", "read line; echo got $line; exit 0", { stdin: true, stdinOnce: true }),
    );
    const stdin = new PassThrough();
    const stdout = new PassThrough();
    const stderr = new PassThrough();
    const done = runtime.attach(id, { stdin, stdout, stderr, tty: false });
    stdin.write("it\n");
    assert.equal(await text(stdout), "got it\n");
    await done;
  });

  test("a port of the pod can be spoken with", async () => {
    await start(exampleContainer("server", "while :; do nc -l -p 8080 -e cat; done"));
    await listening();
    const { near, far } = await pair();
    const done = runtime.portForward(sandbox, 8080, far);
    near.write("hello there");
    const [echoed] = (await Array.fromAsync(once(near))) as Buffer[];
    assert.equal(String(echoed), "hello there");
    near.end();
    assert.equal(await text(near), "");
    await done;
  });

  test("a port on which nobody listens is told", async () => {
    const { near, far } = await pair();
    near.resume();
    await assert.rejects(runtime.portForward(sandbox, 9, far), { code: "CRI_PORT_FAILED", message: /refused/ });
    near.destroy();
  });

  test("a client that goes away ends its forwarding", async () => {
    await listening();
    const { near, far } = await pair();
    far.on("error", () => {});
    const done = runtime.portForward(sandbox, 8080, far);
    near.write("hello");
    near.once("data", () => near.resetAndDestroy());
    await done;
  });
});

async function* once(stream: Readable): AsyncIterable<unknown> {
  for await (const piece of stream.iterator({ destroyOnReturn: false })) {
    yield piece;
    return;
  }
}

/** Two ends of one connection. */
async function pair(): Promise<{ near: ReturnType<typeof connect>; far: Duplex }> {
  const server = createServer({ allowHalfOpen: true });
  const far = new Promise<Duplex>((resolve) => server.once("connection", resolve));
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const near = connect({ port: (server.address() as { port: number }).port, host: "127.0.0.1", allowHalfOpen: true });
  const ends = { near, far: await far };
  server.close();
  return ends;
}
