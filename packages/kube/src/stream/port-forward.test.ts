import assert from "node:assert/strict";
import { createHash, randomBytes } from "node:crypto";
import { once } from "node:events";
import { connect } from "node:net";
import type { Duplex } from "node:stream";
import { buffer, text } from "node:stream/consumers";
import { describe, it } from "node:test";
import { setImmediate } from "node:timers/promises";
import { type LogFields, silentLogger } from "@fjord/base";
import { ManualClock } from "@fjord/base/testing";
import { clusterConfig } from "../config/direct-config.ts";
import { portForward } from "./port-forward.ts";
import { listenPortForward } from "./port-forward-listener.ts";
import { type ServedStream, startStreamServer, statusBody } from "./test-stream-server.ts";

const target = { namespace: "ns", pod: "web", port: 8080 };

/** Begins both channels with the port, as a kubelet does, and serves what comes on the first. */
function forwarding(onData: (stream: ServedStream, data: Buffer) => void) {
  return (stream: ServedStream) => {
    const port = Buffer.alloc(2);
    port.writeUInt16LE(Number(stream.url.searchParams.get("ports")));
    stream.send(0, port);
    stream.send(1, port);
    stream.onFrame = (_, data) => onData(stream, data);
  };
}

const echo = forwarding((stream, data) => stream.send(0, data));

/** Answers one request and closes, as an HTTP/1.0 server does. */
const answering = forwarding((stream, data) => {
  stream.send(0, `you said ${data}`);
  stream.socket.close(1000);
});

async function failure(stream: Duplex): Promise<Error> {
  const [error] = await once(stream.resume(), "error");
  return error;
}

describe("port-forward", () => {
  it("gives a connection that carries bytes both ways and ends when the pod closes it", async () => {
    let asked: URL | undefined;
    await using server = await startStreamServer({
      serve(stream) {
        asked = stream.url;
        answering(stream);
      },
    });
    const stream = await portForward(clusterConfig({ server: `${server.url}/base` }), target);
    stream.write("hello");
    assert.equal(await text(stream), "you said hello");
    assert.equal(`${asked?.pathname}${asked?.search}`, "/base/api/v1/namespaces/ns/pods/web/portforward?ports=8080");
    while (server.connections > 0) await setImmediate();
  });

  it("understands a port number that comes in pieces, with data behind it", async () => {
    await using server = await startStreamServer({
      serve(stream) {
        stream.send(0, Buffer.of(0x90));
        stream.send(0, Buffer.concat([Buffer.of(0x1f), Buffer.from("data")]));
        stream.socket.close(1000);
      },
    });
    assert.equal(await text(await portForward(clusterConfig({ server: server.url }), target)), "data");
  });

  it("still gets the answer after our side has ended", async () => {
    let served: ServedStream | undefined;
    await using server = await startStreamServer({
      serve: forwarding((stream) => {
        served = stream;
      }),
    });
    const stream = await portForward(clusterConfig({ server: server.url }), target);
    stream.end("last words");
    await once(stream, "finish");
    while (served === undefined) await setImmediate();
    served.send(0, "heard");
    served.socket.close(1000);
    assert.equal(await text(stream), "heard");
  });

  it("lets go of a pod that has nothing to say once our side has ended", async () => {
    await using server = await startStreamServer({ serve: forwarding(() => {}) });
    const clock = new ManualClock();
    const stream = await portForward(clusterConfig({ server: server.url }), { ...target, clock, lingerMs: 10_000 });
    stream.end("anyone there?");
    await once(stream, "finish");
    const content = text(stream);
    await clock.advance(10_000);
    assert.equal(await content, "");
    while (server.connections > 0) await setImmediate();
  });

  it("keeps every byte of a large exchange", async () => {
    await using server = await startStreamServer({ serve: echo });
    const stream = await portForward(clusterConfig({ server: server.url }), target);
    const sent = randomBytes(8 * 1024 * 1024);
    stream.write(sent);
    const received = createHash("sha256");
    let size = 0;
    for await (const chunk of stream) {
      received.update(chunk);
      size += chunk.length;
      if (size % 7 === 0) await setImmediate();
      if (size === sent.length) break;
    }
    assert.equal(received.digest("hex"), createHash("sha256").update(sent).digest("hex"));
  });

  it("reads no more than its reader takes", async () => {
    let unsent = 0;
    await using server = await startStreamServer({
      serve(stream) {
        echo(stream);
        const block = Buffer.alloc(64 * 1024);
        const more = () => {
          for (; stream.socket.bufferedAmount < 1024 * 1024; unsent += block.length) stream.send(0, block);
          if (stream.socket.readyState === stream.socket.OPEN) stream.socket.send(Buffer.of(0), more);
        };
        more();
      },
    });
    const stream = await portForward(clusterConfig({ server: server.url }), target);
    for (let before = -1; before !== unsent || stream.readableLength === 0; ) {
      before = unsent;
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
    assert.ok(unsent < 64 * 1024 * 1024, `${unsent} bytes were taken in`);
    assert.ok(stream.readableLength < 1024 * 1024);
    stream.destroy();
    while (server.connections > 0) await setImmediate();
  });

  it("fails with what the other side says about the port", async () => {
    await using server = await startStreamServer({
      serve(stream) {
        echo(stream);
        stream.send(1, "connection refused: nothing listens on 8080\n");
        stream.socket.close(1000);
      },
    });
    const error = await failure(await portForward(clusterConfig({ server: server.url }), target));
    assert.equal(
      error.message,
      "cannot forward to port 8080 of Pod ns/web: connection refused: nothing listens on 8080",
    );
  });

  it("fails when the connection is cut, and does not look like an end", async () => {
    await using server = await startStreamServer({ serve: forwarding((stream) => stream.socket.terminate()) });
    const stream = await portForward(clusterConfig({ server: server.url }), target);
    stream.write("x");
    const error = await failure(stream);
    assert.equal(error.message, `cannot forward to port 8080 of Pod ns/web at ${server.url}: the connection was cut`);
  });

  it("fails when the server forwards another port", async () => {
    await using server = await startStreamServer({ serve: (stream) => stream.send(0, Buffer.of(80, 0)) });
    const error = await failure(await portForward(clusterConfig({ server: server.url }), target));
    assert.match(error.message, /the server forwards port 80$/);
  });

  it("is refused as the API refuses it, and for a port that is none", async () => {
    const body = statusBody(404, "NotFound", 'pods "web" not found');
    await using server = await startStreamServer({ refuse: () => ({ statusCode: 404, body }) });
    const config = clusterConfig({ server: server.url });
    await assert.rejects(portForward(config, target), { reason: "NotFound" });
    await assert.rejects(portForward(config, { ...target, port: 70000 }), { code: "KUBE_PORT_FORWARD" });
  });

  it("ends when it is aborted", async () => {
    await using server = await startStreamServer({ serve: echo });
    const abort = new AbortController();
    const stream = await portForward(clusterConfig({ server: server.url }), { ...target, signal: abort.signal });
    const reason = new Error("changed my mind");
    const failed = failure(stream);
    abort.abort(reason);
    assert.equal(await failed, reason);
    while (server.connections > 0) await setImmediate();
  });
});

describe("a forwarding listener", () => {
  it("carries each local connection to the pod, many at once", async () => {
    await using server = await startStreamServer({ serve: answering });
    await using listener = await listenPortForward(clusterConfig({ server: server.url }), target);
    const ask = async (word: string) => {
      const local = connect(listener.port, listener.host);
      local.write(word);
      return text(local);
    };
    const words = ["one", "two", "three", "four"];
    assert.deepEqual(
      await Promise.all(words.map(ask)),
      words.map((word) => `you said ${word}`),
    );
    while (server.connections > 0) await setImmediate();
  });

  it("closes a local connection whose pod refuses, tells why, and goes on", async () => {
    const warnings: (LogFields | undefined)[] = [];
    const logger = { ...silentLogger, warn: (_: string, fields?: LogFields) => warnings.push(fields) };
    let refusing = true;
    const body = statusBody(404, "NotFound", 'pods "web" not found');
    await using server = await startStreamServer({
      refuse: () => (refusing ? { statusCode: 404, body } : undefined),
      serve: answering,
    });
    await using listener = await listenPortForward(clusterConfig({ server: server.url }), { ...target, logger });
    const refused = connect(listener.port, listener.host);
    assert.equal((await buffer(refused).catch(() => Buffer.alloc(0))).length, 0);
    assert.match(String(warnings[0]?.reason), /pods "web" not found/);
    refusing = false;
    const local = connect(listener.port, listener.host);
    local.write("again");
    assert.equal(await text(local), "you said again");
  });

  it("lets go of the pod when the local side goes away", async () => {
    let served = 0;
    await using server = await startStreamServer({
      serve(stream) {
        served++;
        echo(stream);
      },
    });
    await using listener = await listenPortForward(clusterConfig({ server: server.url }), target);
    const local = connect(listener.port, listener.host);
    local.write("x");
    await once(local, "data");
    local.resetAndDestroy();
    while (served === 0 || server.connections > 0) await setImmediate();
  });

  it("leaves nothing behind when it is closed or aborted", async () => {
    await using server = await startStreamServer({ serve: echo });
    const abort = new AbortController();
    const config = clusterConfig({ server: server.url });
    for (const stop of ["close", "abort"]) {
      const listener = await listenPortForward(config, { ...target, signal: abort.signal });
      const local = connect(listener.port, listener.host);
      local.on("error", () => {});
      local.write("x");
      await once(local, "data");
      if (stop === "abort") abort.abort();
      await listener.close();
      while (server.connections > 0) await setImmediate();
      const late = connect(listener.port, listener.host);
      const [error] = await once(late, "error");
      assert.equal(error.code, "ECONNREFUSED");
    }
  });
});
