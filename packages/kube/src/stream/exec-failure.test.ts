import assert from "node:assert/strict";
import { PassThrough, Writable } from "node:stream";
import { text } from "node:stream/consumers";
import { describe, it } from "node:test";
import { setImmediate } from "node:timers/promises";
import { ManualClock } from "@fjord/base/testing";
import { ApiError } from "../client/api-error.ts";
import { clusterConfig } from "../config/direct-config.ts";
import { ConnectionError } from "../transport/errors.ts";
import { exec } from "./exec.ts";
import { type ServedStream, startStreamServer, statusBody } from "./test-stream-server.ts";

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
