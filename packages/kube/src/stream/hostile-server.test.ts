import assert from "node:assert/strict";
import { once } from "node:events";
import { PassThrough } from "node:stream";
import { describe, it } from "node:test";
import { setImmediate } from "node:timers/promises";
import { ManualClock } from "@fjord/base/testing";
import { clusterConfig } from "../config/direct-config.ts";
import { exec } from "./exec.ts";
import { portForward } from "./port-forward.ts";
import { type ServedStream, startStreamServer } from "./test-stream-server.ts";

const target = { namespace: "ns", pod: "web", command: ["cat"] };
const success = JSON.stringify({ status: "Success" });

describe("a server that means harm", () => {
  const breaches = { "reserved bits": [0xf2, 1, 1], "a masked frame": [0x82, 0x81, 0, 0, 0, 0, 1], "a huge frame": [] };
  for (const [what, bytes] of Object.entries(breaches)) {
    it(`is left at once where it breaks the protocol: ${what}`, { timeout: 60_000 }, async () => {
      const huge = Buffer.from([0x82, 127, 0, 0, 0, 0, 6, 0, 0, 0]);
      await using server = await startStreamServer({
        serve(stream) {
          stream.socket.pause();
          stream.request.socket.write(bytes.length > 0 ? Buffer.from(bytes) : huge);
        },
      });
      // Without pings, which would end it too, if later.
      const patient = { ...target, pingIntervalMs: 600_000 };
      await assert.rejects(exec(clusterConfig({ server: server.url }), patient), { name: "ConnectionError" });
    });
  }

  it("cannot fill the memory with its word on how a command ended", async () => {
    await using server = await startStreamServer({
      serve(stream) {
        for (let sent = 0; sent < 10; sent++) stream.send(3, "a".repeat(10_000));
      },
    });
    await assert.rejects(exec(clusterConfig({ server: server.url }), target), {
      code: "KUBE_STREAM_PROTOCOL",
      message: /longer than 65536 bytes/,
    });
  });

  it("cannot fill the memory with the words of a port's error", async () => {
    await using server = await startStreamServer({
      serve(stream) {
        const port = Buffer.alloc(2);
        port.writeUInt16LE(80);
        stream.send(0, port);
        stream.send(1, port);
        for (let sent = 0; sent < 10; sent++) stream.send(1, "a".repeat(10_000));
      },
    });
    const stream = await portForward(clusterConfig({ server: server.url }), { ...target, port: 80 });
    const [error] = await once(stream.resume(), "error");
    assert.equal(error.code, "KUBE_PORT_FORWARD");
    assert.ok(error.message.length < 66_000);
  });

  it("gets no more answers to its pings than it reads", { timeout: 60_000 }, async () => {
    const pings = 200_000;
    let served: ServedStream | undefined;
    await using server = await startStreamServer({
      async serve(stream) {
        served = stream;
        stream.socket.pause();
        const connection = stream.request.socket;
        const frame = Buffer.concat([Buffer.from([0x89, 125]), Buffer.alloc(125)]);
        const batch = Buffer.concat(new Array(1_000).fill(frame));
        for (let sent = 0; sent < pings; sent += 1_000) if (!connection.write(batch)) await once(connection, "drain");
        stream.send(1, "done");
      },
    });
    const stdout = new PassThrough();
    const running = exec(clusterConfig({ server: server.url }), { ...target, stdout });
    await once(stdout, "data");
    let pongs = 0;
    served?.socket.on("pong", () => pongs++);
    served?.socket.on("message", () => {});
    served?.exit(0);
    served?.socket.resume();
    assert.deepEqual(await running, { exitCode: 0 });
    assert.ok(pongs < pings * 0.8, `${pongs} answers were kept`);
  });

  it("cannot keep a caller by ignoring the goodbye", { timeout: 60_000 }, async () => {
    const clock = new ManualClock();
    await using server = await startStreamServer({
      serve(stream) {
        stream.socket.pause();
        stream.send(3, success);
        stream.send(1, "done");
      },
    });
    const stdout = new PassThrough();
    const running = exec(clusterConfig({ server: server.url }), { ...target, stdout, clock, pingIntervalMs: 60_000 });
    await once(stdout, "data");
    await clock.advance(5_000);
    await setImmediate();
    await clock.advance(5_000);
    assert.deepEqual(await running, { exitCode: 0 });
  });
});
