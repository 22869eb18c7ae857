import assert from "node:assert/strict";
import { createHash, randomBytes } from "node:crypto";
import { PassThrough, Readable, Writable } from "node:stream";
import { text } from "node:stream/consumers";
import { describe, it } from "node:test";
import { setImmediate } from "node:timers/promises";
import { ManualClock } from "@fjord/base/testing";
import { ApiError } from "../client/api-error.ts";
import { clusterConfig } from "../config/direct-config.ts";
import { ConnectionError } from "../transport/errors.ts";
import { attach, exec } from "./exec.ts";
import { type ServedStream, startStreamServer, statusBody } from "./test-stream-server.ts";

const v4 = "v4.channel.k8s.io";
const target = { namespace: "ns", pod: "web", command: ["cat"] };

/** Collects what is written to it. */
function sink() {
  const stream = new PassThrough();
  const content = text(stream);
  const finish = () => {
    stream.end();
    return content;
  };
  return { stream, content: finish };
}

/** `cat`: gives back what it gets, and ends with its input. */
function cat(stream: ServedStream): void {
  for (const channel of [1, 2, 3]) stream.send(channel, "");
  stream.onFrame = (channel, data) => {
    if (channel === 0) stream.send(1, data);
    if (channel === 255 && data[0] === 0) stream.exit(0);
  };
}

describe("exec", () => {
  it("asks for the command, container and streams, and gives output and exit code", async () => {
    let asked: URL | undefined;
    await using server = await startStreamServer({
      serve(stream) {
        asked = stream.url;
        stream.send(1, "out");
        stream.send(2, "err");
        stream.send(1, "put");
        stream.exit(3);
      },
    });
    const [stdout, stderr] = [sink(), sink()];
    const config = clusterConfig({ server: `${server.url}/kube/tenant/`, namespace: "own" });
    const command = ["sh", "-c", "echo a & b+c=ü"];
    const result = await exec(config, {
      pod: "web",
      container: "main",
      command,
      stdout: stdout.stream,
      stderr: stderr.stream,
    });
    assert.deepEqual(result, { exitCode: 3 });
    assert.equal(await stdout.content(), "output");
    assert.equal(await stderr.content(), "err");
    assert.equal(asked?.pathname, "/kube/tenant/api/v1/namespaces/own/pods/web/exec");
    assert.deepEqual(asked?.searchParams.getAll("command"), command);
    assert.deepEqual(
      [...(asked?.searchParams ?? [])].filter(([name]) => name !== "command"),
      [
        ["container", "main"],
        ["stdout", "true"],
        ["stderr", "true"],
      ],
    );
  });

  it("tells the end of the input, so that the command can end", async () => {
    await using server = await startStreamServer({ serve: cat });
    const stdout = sink();
    const config = clusterConfig({ server: server.url });
    const stdin = Readable.from([Buffer.from("hello "), Buffer.from("world")]);
    assert.deepEqual(await exec(config, { ...target, stdin, stdout: stdout.stream }), { exitCode: 0 });
    assert.equal(await stdout.content(), "hello world");
  });

  it("gives an empty input its end too", async () => {
    await using server = await startStreamServer({ serve: cat });
    const ended = Readable.from([]);
    ended.resume();
    while (!ended.readableEnded) await setImmediate();
    for (const stdin of [Readable.from([]), ended]) {
      assert.deepEqual(await exec(clusterConfig({ server: server.url }), { ...target, stdin }), { exitCode: 0 });
    }
  });

  it("falls back to the fourth version, which cannot tell the end of the input", async () => {
    let chosen = "";
    await using server = await startStreamServer({
      protocols: [v4],
      serve(stream) {
        chosen = stream.socket.protocol;
        stream.onFrame = (channel, data) => {
          assert.equal(channel, 0);
          stream.send(1, data);
          if (data.toString().includes("quit")) stream.exit(7);
        };
      },
    });
    const stdout = sink();
    const stdin = Readable.from([Buffer.from("quit")]);
    const result = await exec(clusterConfig({ server: server.url }), { ...target, stdin, stdout: stdout.stream });
    assert.deepEqual(result, { exitCode: 7 });
    assert.equal(chosen, v4);
    assert.equal(await stdout.content(), "quit");
  });

  it("says when the server speaks neither", async () => {
    await using server = await startStreamServer({ protocols: ["v9.channel.k8s.io"] });
    await assert.rejects(exec(clusterConfig({ server: server.url }), target), {
      code: "KUBE_STREAM_PROTOCOL",
      message: `cannot run a command in Pod ns/web at ${server.url}: Server sent no subprotocol`,
    });
  });

  it("carries a terminal: no separate errors, and its sizes as they change", async () => {
    const sizes: string[] = [];
    let asked: URL | undefined;
    await using server = await startStreamServer({
      serve(stream) {
        asked = stream.url;
        stream.onFrame = (channel, data) => {
          assert.equal(channel, 4);
          if (sizes.push(data.toString()) === 2) stream.exit(0);
        };
      },
    });
    async function* resize() {
      yield { width: 80, height: 24 };
      yield { width: 120, height: 50 };
      await new Promise(() => {});
    }
    const [stdout, stderr] = [sink(), sink()];
    await exec(clusterConfig({ server: server.url }), {
      ...target,
      tty: true,
      resize: resize(),
      stdout: stdout.stream,
      stderr: stderr.stream,
    });
    assert.deepEqual(sizes, ['{"Width":80,"Height":24}', '{"Width":120,"Height":50}']);
    assert.equal(asked?.searchParams.get("tty"), "true");
    assert.equal(asked?.searchParams.get("stderr"), null);
  });

  it("keeps every byte of a large exchange while both sides are slow", async () => {
    await using server = await startStreamServer({ serve: cat });
    const sent = createHash("sha256");
    const got = createHash("sha256");
    let [given, taken, ahead] = [0, 0, 0];
    const total = 24 * 1024 * 1024;
    const stdin = new Readable({
      read() {
        const chunk = given < total ? randomBytes(100_000) : null;
        if (chunk !== null) sent.update(chunk);
        given += chunk?.length ?? 0;
        ahead = Math.max(ahead, given - taken);
        this.push(chunk);
      },
    });
    const stdout = new Writable({
      highWaterMark: 16 * 1024,
      write(chunk: Buffer, _, done) {
        got.update(chunk);
        taken += chunk.length;
        setImmediate().then(() => done());
      },
    });
    assert.deepEqual(await exec(clusterConfig({ server: server.url }), { ...target, stdin, stdout }), { exitCode: 0 });
    assert.equal(taken, given);
    assert.equal(got.digest("hex"), sent.digest("hex"));
  });

  it("is not over before the output has taken everything", async () => {
    await using server = await startStreamServer({
      serve(stream) {
        stream.send(1, "last words");
        stream.exit(0);
      },
    });
    let take: (() => void) | undefined;
    const stdout = new Writable({
      write(_, __, done) {
        take = done;
      },
    });
    let over = false;
    const running = exec(clusterConfig({ server: server.url }), { ...target, stdout }).then((result) => {
      over = true;
      return result;
    });
    while (take === undefined || server.connections > 0) await setImmediate();
    for (let turn = 0; turn < 10; turn++) await setImmediate();
    assert.equal(over, false);
    take();
    assert.deepEqual(await running, { exitCode: 0 });
  });

  it("reads no more than the output takes", async () => {
    let unsent = 0;
    const total = 256 * 1024 * 1024;
    await using server = await startStreamServer({
      serve(stream) {
        const block = Buffer.alloc(64 * 1024);
        const more = () => {
          for (; unsent < total && stream.socket.bufferedAmount < 1024 * 1024; unsent += block.length)
            stream.send(1, block);
          if (unsent < total && stream.socket.readyState === stream.socket.OPEN) stream.socket.send(Buffer.of(1), more);
        };
        more();
      },
    });
    let release: (() => void) | undefined;
    const stdout = new Writable({
      write(_, __, done) {
        release = done;
      },
    });
    const abort = new AbortController();
    const running = exec(clusterConfig({ server: server.url }), { ...target, stdout, signal: abort.signal });
    const outcome = running.catch((error: unknown) => error);
    // The server stops making progress once the kernel's buffers are full.
    for (let before = -1; before !== unsent || release === undefined; ) {
      before = unsent;
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
    assert.ok(unsent < 64 * 1024 * 1024, `${unsent} bytes were taken in`);
    assert.ok(stdout.writableLength < 1024 * 1024, `${stdout.writableLength} bytes wait in the output`);
    abort.abort(new Error("enough"));
    assert.equal(((await outcome) as Error).message, "enough");
  });

  it("stops taking input that the server does not read", async () => {
    await using server = await startStreamServer({ serve: (stream) => stream.socket.pause() });
    let given = 0;
    const stdin = new Readable({
      read() {
        given += 65536;
        this.push(Buffer.alloc(65536));
      },
    });
    const abort = new AbortController();
    const running = exec(clusterConfig({ server: server.url }), { ...target, stdin, signal: abort.signal });
    const outcome = running.catch((error: unknown) => error);
    for (let before = -1; before !== given || given === 0; ) {
      before = given;
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
    assert.ok(given < 64 * 1024 * 1024, `${given} bytes were taken`);
    abort.abort(new Error("enough"));
    assert.equal(((await outcome) as Error).message, "enough");
    assert.equal(stdin.destroyed, false);
    assert.equal(stdin.listenerCount("data"), 0);
  });
});

describe("exec that fails", () => {
  const refusals: [number, string, string][] = [
    [400, "BadRequest", "container web is not valid for pod web"],
    [403, "Forbidden", 'pods "web" is forbidden: User "u" cannot create resource "pods/exec"'],
    [404, "NotFound", 'pods "web" not found'],
    [500, "InternalError", "error dialing backend"],
  ];
  for (const [statusCode, reason, message] of refusals) {
    it(`becomes the API's own error: ${statusCode}`, async () => {
      const body = statusBody(statusCode, reason, message);
      await using server = await startStreamServer({ refuse: () => ({ statusCode, body }) });
      await assert.rejects(exec(clusterConfig({ server: server.url }), target), (error) => {
        assert.ok(error instanceof ApiError);
        assert.equal(error.message, `cannot run a command in Pod ns/web: ${message} (${statusCode} ${reason})`);
        return true;
      });
    });
  }

  it("becomes the API's own error when the command cannot be started", async () => {
    await using server = await startStreamServer({
      serve(stream) {
        stream.send(3, statusBody(500, "InternalError", "exec: no-such-command: not found"));
        stream.socket.close(1000);
      },
    });
    await assert.rejects(exec(clusterConfig({ server: server.url }), target), {
      name: "ApiError",
      message: "cannot run a command in Pod ns/web: exec: no-such-command: not found (500 InternalError)",
    });
  });

  it("is told from success when the connection is cut in the middle", async () => {
    await using server = await startStreamServer({
      serve(stream) {
        stream.send(1, "half of it");
        stream.socket.on("pong", () => stream.socket.terminate());
        stream.socket.ping();
      },
    });
    const stdout = sink();
    await assert.rejects(exec(clusterConfig({ server: server.url }), { ...target, stdout: stdout.stream }), (error) => {
      assert.ok(error instanceof ConnectionError);
      const reason = "the connection was cut before it told how the command ended";
      assert.equal(error.message, `cannot run a command in Pod ns/web at ${server.url}: ${reason}`);
      return true;
    });
    assert.equal(await stdout.content(), "half of it");
  });

  it("names a server that closes without a word", async () => {
    await using server = await startStreamServer({ serve: (stream) => stream.socket.close(1011, "kubelet is gone") });
    await assert.rejects(exec(clusterConfig({ server: server.url }), target), {
      message: `cannot run a command in Pod ns/web at ${server.url}: the server closed with code 1011: kubelet is gone before it told how the command ended`,
    });
  });

  it("notices a server that has fallen silent", async () => {
    let stream: ServedStream | undefined;
    await using server = await startStreamServer({
      serve(served) {
        stream = served;
        served.socket.pause();
      },
    });
    const clock = new ManualClock();
    const running = exec(clusterConfig({ server: server.url }), { ...target, clock, pingIntervalMs: 1_000 });
    const outcome = running.catch((error: unknown) => error);
    while (stream === undefined) await setImmediate();
    await setImmediate();
    for (let i = 0; i < 6; i++) await clock.advance(1_000);
    assert.match(String(await outcome), /the server fell silent before it told how the command ended/);
  });

  it("keeps a quiet server that answers pings", async () => {
    let stream: ServedStream | undefined;
    let pings = 0;
    await using server = await startStreamServer({
      serve(served) {
        stream = served;
        served.socket.on("ping", () => pings++);
      },
    });
    const clock = new ManualClock();
    const running = exec(clusterConfig({ server: server.url }), { ...target, clock, pingIntervalMs: 1_000 });
    while (clock.pending === 0 || stream === undefined) await setImmediate();
    for (let sent = 1; sent <= 12; sent++) {
      await clock.advance(1_000);
      while (pings < sent) await setImmediate();
      // A ping of the server's own, answered: then its pong before it has arrived as well.
      const answered = new Promise((resolve) => stream?.socket.once("pong", resolve));
      stream.socket.ping();
      await answered;
    }
    stream.exit(0);
    assert.deepEqual(await running, { exitCode: 0 });
  });

  it("gives up on a server that never agrees", async () => {
    let connected = false;
    await using server = await startStreamServer({ ignore: () => (connected = true) });
    const clock = new ManualClock();
    const outcome = exec(clusterConfig({ server: server.url }), { ...target, clock }).catch((error: unknown) => error);
    while (!connected) await setImmediate();
    await clock.advance(30_000);
    assert.match(String(await outcome), /the server did not agree within 30 s/);
    while (server.connections > 0) await setImmediate();
  });

  it("ends when it is aborted: before, while connecting, and while running", async () => {
    let reached = 0;
    await using silent = await startStreamServer({ ignore: () => reached++ });
    await using server = await startStreamServer({ serve: () => reached++ });
    const reason = new Error("changed my mind");
    await assert.rejects(
      exec(clusterConfig({ server: server.url }), { ...target, signal: AbortSignal.abort(reason) }),
      reason,
    );
    for (const { url } of [silent, server]) {
      const abort = new AbortController();
      const before = reached;
      const outcome = exec(clusterConfig({ server: url }), { ...target, signal: abort.signal }).catch(
        (error: unknown) => error,
      );
      while (reached === before) await setImmediate();
      abort.abort(reason);
      assert.equal(await outcome, reason);
    }
    while (server.connections + silent.connections > 0) await setImmediate();
  });

  it("ends when its output is closed or fails", async () => {
    await using server = await startStreamServer({ serve: (stream) => stream.send(1, "x") });
    const closing = new Writable({ write: () => closing.destroy() });
    await assert.rejects(exec(clusterConfig({ server: server.url }), { ...target, stdout: closing }), {
      message: "cannot run a command in Pod ns/web: stdout was closed before the command ended",
    });
    const failing = new Writable({ write: (_, __, done) => done(new Error("disk full")) });
    await assert.rejects(
      exec(clusterConfig({ server: server.url }), { ...target, stdout: failing }),
      (error: Error) => {
        assert.equal((error.cause as Error).message, "disk full");
        return true;
      },
    );
  });

  it("ends although the server forgets to close", async () => {
    let served: ServedStream | undefined;
    await using server = await startStreamServer({
      serve(stream) {
        served = stream;
        stream.send(3, '{"status":"Success"}');
      },
    });
    const clock = new ManualClock();
    const running = exec(clusterConfig({ server: server.url }), { ...target, clock });
    // The ping, and the wait for a goodbye.
    while (served === undefined || clock.pending < 2) await setImmediate();
    await clock.advance(5_000);
    assert.deepEqual(await running, { exitCode: 0 });
  });
});

describe("attach", () => {
  it("joins the streams of the container itself", async () => {
    let asked: URL | undefined;
    await using server = await startStreamServer({
      serve(stream) {
        asked = stream.url;
        cat(stream);
      },
    });
    const stdout = sink();
    const config = clusterConfig({ server: server.url });
    const stdin = Readable.from([Buffer.from("hello")]);
    assert.deepEqual(await attach(config, { pod: "web", container: "main", stdin, stdout: stdout.stream }), {
      exitCode: 0,
    });
    assert.equal(await stdout.content(), "hello");
    assert.equal(
      `${asked?.pathname}${asked?.search}`,
      "/api/v1/namespaces/default/pods/web/attach?container=main&stdin=true&stdout=true",
    );
  });
});
