import assert from "node:assert/strict";
import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Server, type Socket } from "node:net";
import { type TestContext, test } from "node:test";
import { systemClock } from "@fjord/base";
import { Network } from "./network.ts";
import type { Endpoint } from "./relay.ts";

test("bytes arrive after the latency of each direction, and a connection costs its round trip", async (t) => {
  const { network, address } = await echoBehindPath(t);
  await network.shape("a", "b", { latency: 60 }, { oneWay: true });
  await network.shape("b", "a", { latency: 30 }, { oneWay: true });
  const began = performance.now();
  const socket = await dial(t, address);
  await roundTrip(socket, "first");
  const first = performance.now() - began;
  assert.ok(first >= 178 && first < 5_000, `two round trips of 90 ms took ${first} ms`);
  const again = performance.now();
  await roundTrip(socket, "second");
  const second = performance.now() - again;
  assert.ok(second >= 88 && second < 5_000, `one round trip of 90 ms took ${second} ms`);
});

test("latency does not limit throughput, and jitter keeps order", async (t) => {
  const { network, address } = await echoBehindPath(t);
  await network.shape("a", "b", { latency: 50, jitter: 20 });
  const socket = await dial(t, address);
  const sent = Buffer.alloc(8 * 1024 * 1024);
  for (let i = 0; i < sent.length; i += 4) sent.writeUInt32LE(i, i);
  const elapsed = await quickest(5_000, async () => {
    assert.ok((await exchange(socket, sent)).equals(sent), "all bytes, in order");
  });
  assert.ok(elapsed < 5_000, `8 MiB there and back at 50 ms took ${elapsed} ms`);
});

test("bandwidth is limited for all connections of a direction together", async (t) => {
  const { network, address } = await echoBehindPath(t);
  await network.shape("a", "b", { bandwidth: 400_000 }, { oneWay: true });
  const sockets = await Promise.all([dial(t, address), dial(t, address)]);
  const elapsed = await quickest(5_000, async () => {
    await Promise.all(sockets.map((socket) => exchange(socket, Buffer.alloc(100_000))));
  });
  assert.ok(elapsed > 450 && elapsed < 5_000, `200 kB at 400 kB/s took ${elapsed} ms`);
});

test("a connection survives a silent cut: nothing passes meanwhile, all of it arrives after healing", async (t) => {
  const { network, address } = await echoBehindPath(t);
  const socket = await dial(t, address);
  await roundTrip(socket, "before");
  await network.cut("a", "b");
  socket.write("during");
  assert.equal(await arrivesWithin(socket, 150), false);
  const late = await dial(t, address);
  late.write("late");
  assert.equal(await arrivesWithin(late, 100), false, "a new connection finds silence too");
  await network.heal("a", "b");
  assert.equal(await read(socket, 6), "during");
  assert.equal(await read(late, 4), "late");
});

test("each direction is cut on its own", async (t) => {
  const { network, address, received } = await echoBehindPath(t);
  const socket = await dial(t, address);
  await roundTrip(socket, "before");
  await network.cut("b", "a", { oneWay: true });
  socket.write("hello");
  await received("beforehello");
  assert.equal(await arrivesWithin(socket, 100), false, "the way there works, the way back does not");
  await network.heal("b", "a", { oneWay: true });
  assert.equal(await read(socket, 5), "hello");
  await network.cut("a", "b", { oneWay: true });
  socket.write("lost?");
  assert.equal(await arrivesWithin(socket, 100), false);
  await network.heal("a", "b");
  assert.equal(await read(socket, 5), "lost?");
});

test("a cut with reset ends connections at once and refuses new ones on the same address until healed", async (t) => {
  const { network, address } = await echoBehindPath(t);
  const socket = await dial(t, address);
  await roundTrip(socket, "before");
  const ended = once(socket, "error");
  await network.cut("a", "b", { reset: true });
  assert.equal(((await ended)[0] as NodeJS.ErrnoException).code, "ECONNRESET");
  await assert.rejects(dial(t, address), { code: "ECONNREFUSED" });
  await network.heal("a", "b");
  await roundTrip(await dial(t, address), "after");
});

test("a later cut takes the place of the earlier one, for the directions that it concerns", async (t) => {
  const { network, address } = await echoBehindPath(t);
  const states = async () => (await network.status()).map(({ state }) => state);
  await network.cut("a", "b", { oneWay: true });
  await network.cut("a", "b", { reset: true });
  assert.deepEqual(await states(), ["refusing", "refusing"]);
  await assert.rejects(dial(t, address), { code: "ECONNREFUSED" });
  await network.cut("a", "b", { oneWay: true });
  assert.deepEqual(await states(), ["cut", "refusing"]);
  const socket = await dial(t, address);
  socket.write("kept");
  assert.equal(await arrivesWithin(socket, 100), false);
  await network.heal("a", "b", { oneWay: true });
  assert.deepEqual(await states(), ["open", "refusing"]);
  await network.cut("b", "a");
  assert.deepEqual(await states(), ["cut", "cut"]);
  await network.heal("a", "b");
  assert.equal(await read(socket, 4), "kept");
});

test("what is no longer exposed resets its connections and refuses new ones", async (t) => {
  const { network, address } = await echoBehindPath(t);
  const [there] = await network.status();
  const target = there?.exposed[0]?.target ?? assert.fail("nothing is exposed");
  assert.deepEqual(there?.exposed, [{ target, address }]);
  const socket = await dial(t, address);
  await roundTrip(socket, "before");
  const ended = once(socket, "error");
  await network.unexpose("a", "b", target);
  assert.equal(((await ended)[0] as NodeJS.ErrnoException).code, "ECONNRESET");
  await assert.rejects(dial(t, address), { code: "ECONNREFUSED" });
  await assert.rejects(network.unexpose("a", "b", target), {
    code: "TESTBED_NOT_EXPOSED",
    message: /there is nothing$/,
  });
});

test("half-closing passes through: what the other side still sends arrives", async (t) => {
  const { network } = await echoBehindPath(t);
  await network.shape("a", "b", { latency: 20 });
  const server = await listen(t, (socket) => {
    socket.resume();
    socket.on("end", () => socket.end("answer after your end"));
  });
  const socket = await dial(t, await network.path("a", "b").expose(server));
  socket.end("question");
  assert.equal(await readAll(socket), "answer after your end");
});

test("a reset of the target's side reaches the client", async (t) => {
  const { network } = await echoBehindPath(t);
  const server = await listen(t, (socket) => socket.once("data", () => socket.resetAndDestroy()));
  const socket = await dial(t, await network.path("a", "b").expose(server));
  const ended = once(socket, "error");
  socket.write("x");
  assert.equal(((await ended)[0] as NodeJS.ErrnoException).code, "ECONNRESET");
});

test("a target that does not listen resets the client, and works once it does", async (t) => {
  const { network } = await echoBehindPath(t);
  const server = await listen(t, (socket) => socket.end("up"));
  await new Promise((resolve) => server.server.close(resolve));
  const address = await network.path("a", "b").expose(server);
  await assert.rejects(readAll(await dial(t, address)), { code: "ECONNRESET" });
  server.server.listen(server.port, server.host);
  await once(server.server, "listening");
  assert.equal(await readAll(await dial(t, address)), "up");
});

test("a receiver that does not read holds the sender back", async (t) => {
  const { network } = await echoBehindPath(t);
  let accepted: Socket | undefined;
  const server = await listen(t, (socket) => {
    accepted = socket.pause();
  });
  const socket = await dial(t, await network.path("a", "b").expose(server));
  let total = 0;
  const block = Buffer.alloc(1024 * 1024);
  while (total < 200 && socket.write(block)) total++;
  while (total < 200) {
    const drained = await Promise.race([once(socket, "drain").then(() => true), timer(300).then(() => false)]);
    if (!drained) break;
    while (total < 200 && socket.write(block)) total++;
    total++;
  }
  assert.ok(total < 120, `the relay took ${total} MiB that nobody read`);
  accepted?.resume();
  await once(socket, "drain");
});

test("status tells what was set and counts what arrived", async (t) => {
  const { network, address } = await echoBehindPath(t);
  await roundTrip(await dial(t, address), "12345");
  await network.shape("a", "b", { latency: 5 }, { oneWay: true });
  await network.cut("b", "a", { oneWay: true });
  const [there, back] = await network.status();
  assert.deepEqual(
    [there?.from, there?.latency, there?.state, there?.delivered, there?.connections],
    ["a", 5, "open", 5, 1],
  );
  assert.deepEqual([back?.from, back?.latency, back?.state, back?.delivered], ["b", 0, "cut", 5]);
  await network.reset();
  assert.deepEqual(
    (await network.status()).map(({ latency, state }) => [latency, state]),
    [
      [0, "open"],
      [0, "open"],
    ],
  );
});

test("a path to nowhere is refused by name", async (t) => {
  const { network } = await echoBehindPath(t);
  assert.throws(() => network.path("a", "a"), /no path from a to a; its sites are a, b/);
  await assert.rejects(network.cut("a", "c"), /no path from a to c/);
});

async function echoBehindPath(t: TestContext) {
  let text = "";
  let look = () => {};
  const target = await listen(t, (socket) => {
    socket.on("data", (chunk: Buffer) => {
      if (text.length < 1000) text += chunk.toString("latin1", 0, 100);
      look();
    });
    socket.pipe(socket);
  });
  const network = new Network({
    sites: ["a", "b"],
    address: (from) => (from === "a" ? "127.77.200.1" : "127.77.200.2"),
    clock: systemClock,
    random: Math.random,
  });
  t.after(() => network.close());
  const received = (expected: string) =>
    new Promise<void>((resolve) => {
      look = () => {
        if (text === expected) resolve();
      };
      look();
    });
  return { network, received, address: await network.path("a", "b").expose(target) };
}

async function listen(t: TestContext, serve: (socket: Socket) => void): Promise<Endpoint & { server: Server }> {
  const server = createServer({ allowHalfOpen: true }, (socket) => {
    socket.on("error", () => {});
    serve(socket);
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  t.after(() => server.close());
  return { server, host: "127.0.0.1", port: (server.address() as AddressInfo).port };
}

async function dial(t: TestContext, address: Endpoint): Promise<Socket> {
  const socket = connect({ ...address, allowHalfOpen: true });
  t.after(() => socket.destroy());
  await once(socket, "connect");
  return socket;
}

async function roundTrip(socket: Socket, text: string): Promise<void> {
  socket.write(text);
  assert.equal(await read(socket, text.length), text);
}

async function read(socket: Socket, size: number): Promise<string> {
  let chunk = socket.read(size) as Buffer | null;
  while (chunk === null) {
    await once(socket, "readable");
    chunk = socket.read(size) as Buffer | null;
  }
  return chunk.toString();
}

async function readAll(socket: Socket): Promise<string> {
  let text = "";
  for await (const chunk of socket) text += chunk;
  return text;
}

async function exchange(socket: Socket, data: Buffer): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let size = 0;
  const done = new Promise<void>((resolve) => {
    socket.on("data", (chunk: Buffer) => {
      chunks.push(chunk);
      size += chunk.length;
      if (size >= data.length) resolve();
    });
  });
  socket.write(data);
  await done;
  return Buffer.concat(chunks);
}

/** How long it takes at best; tried again, twice at most, while that is too long: a machine with much to do adds to all. */
async function quickest(enoughMs: number, act: () => Promise<void>): Promise<number> {
  let best = Number.POSITIVE_INFINITY;
  for (let tries = 0; tries < 3 && best >= enoughMs; tries++) {
    const began = performance.now();
    await act();
    best = Math.min(best, performance.now() - began);
  }
  return best;
}

/** That nothing arrives can only be seen by waiting a little. */
async function arrivesWithin(socket: Socket, ms: number): Promise<boolean> {
  const arrived = new Promise<boolean>((resolve) => socket.once("readable", () => resolve(socket.readableLength > 0)));
  return Promise.race([arrived, timer(ms).then(() => false)]);
}

function timer(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
