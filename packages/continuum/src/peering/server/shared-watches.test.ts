import assert from "node:assert/strict";
import { once } from "node:events";
import type { ServerResponse } from "node:http";
import { type ClientHttp2Session, type ClientHttp2Stream, connect, constants } from "node:http2";
import { after, describe, test } from "node:test";
import type { TLSSocket } from "node:tls";
import type { RawRoute } from "../../peer-routes.ts";
import type { PeerLimits } from "./peer-limits.ts";
import type { PeerMetrics } from "./peer-metrics.ts";
import { PeerServer } from "./peer-server.ts";
import { means, siteObject, testSite } from "./test-sites.ts";

const [provider, consumer, stranger] = await Promise.all([testSite(), testSite(), testSite()]);
const WATCH = "/kube/api/v1/pods?watch=true";
const stop = new AbortController();
const runs: Promise<void>[] = [];
after(async () => {
  stop.abort();
  await Promise.all(runs);
});

/** A server whose watches a test answers. */
async function serve(limits: Partial<PeerLimits> = {}) {
  const counted: string[] = [];
  const peerMetrics: PeerMetrics = {
    request: (route, status) => void counted.push(`${route} ${status}`),
    connectionRefused: (reason) => void counted.push(`refused ${reason}`),
    connections() {},
    proxied() {},
  };
  const watches: ServerResponse[] = [];
  const kube: RawRoute = {
    prefix: "/kube",
    access: "peer",
    handle: (request, response) => {
      watches.push(response);
      response.writeHead(200, { "content-type": "text/plain" });
      response.flushHeaders();
      response.write(Buffer.from(request.url ?? ""));
    },
  };
  const server = new PeerServer({
    ...means,
    tls: provider.tls,
    siteOf: (id) => (id === consumer.id ? siteObject(id) : undefined),
    routes: [{ method: "GET", path: "/open", access: "stranger", handle: async () => "yes" }],
    rawRoutes: [kube],
    host: "127.0.0.1",
    port: 0,
    peerMetrics,
    limits,
  });
  runs.push(server.run(stop.signal));
  const endpoint = `https://127.0.0.1:${(await server.listen())?.port}`;
  const dial = (as = consumer) => as.tls.connect(endpoint, provider.id, { protocols: ["h2", "http/1.1"] });
  return { counted, watches, dial, session: async (as = consumer) => share(await dial(as)) };
}

async function share(socket: TLSSocket): Promise<ClientHttp2Session> {
  const session = connect("https://peer", { createConnection: () => socket });
  session.on("error", () => {});
  after(() => session.destroy());
  return session;
}

function ask(session: ClientHttp2Session, path = WATCH, headers = {}, endStream = true): ClientHttp2Stream {
  return session.request({ ":path": path, ...headers }, { endStream }).on("error", () => {});
}

async function firstOf(stream: ClientHttp2Stream): Promise<string> {
  const [chunk] = await once(stream, "data");
  return String(chunk);
}

async function endOf(stream: ClientHttp2Stream): Promise<number | undefined> {
  stream.resume();
  if (!stream.closed) await new Promise((resolve) => stream.once("close", resolve));
  return stream.rstCode;
}

/** A frame as it is on the wire. */
function frame(type: number, flags: number, stream: number, body: Uint8Array = Buffer.alloc(0)): Buffer<ArrayBuffer> {
  const head = Buffer.alloc(9);
  head.writeUIntBE(body.length, 0, 3);
  head.writeUInt8(type, 3);
  head.writeUInt8(flags, 4);
  head.writeUInt32BE(stream, 5);
  return Buffer.concat([head, body]);
}

const PREFACE = Buffer.concat([Buffer.from("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"), frame(4, 0, 0)]);
const END_STREAM = 1;
const END_HEADERS = 4;

/** The head of a watch without compression: method and scheme from the table of names, the path and the host by letters. */
function watchHead(): Buffer<ArrayBuffer> {
  return Buffer.concat([Buffer.from([0x82, 0x87, 0x04, WATCH.length]), Buffer.from(WATCH), Buffer.from([0x01, 1, 97])]);
}

/** Sends frames until the other side ends the connection; how many were taken until then, or undefined where it never does. */
async function pour(
  socket: TLSSocket,
  next: (index: number) => Buffer<ArrayBuffer>,
  most: number,
): Promise<number | undefined> {
  let gone = false;
  socket
    .on("error", () => {})
    .on("close", () => {
      gone = true;
    });
  socket.resume();
  socket.write(PREFACE);
  for (let index = 0; index < most; index++) {
    if (gone) return index;
    const more = socket.write(next(index));
    if (more) {
      if (index % 16 === 0) await new Promise((resolve) => setImmediate(resolve));
    } else await Promise.race([once(socket, "drain"), once(socket, "close")]).catch(() => {});
  }
  await new Promise((resolve) => setTimeout(resolve, 200));
  return gone ? most : undefined;
}

describe("watches that share a connection", () => {
  test("are answered side by side, and each ends by itself", async () => {
    const { session, watches } = await serve();
    const shared = await session();
    const [a, b] = [ask(shared), ask(shared, "/kube/apis/x?limit=1&watch=1")];
    assert.deepEqual(await Promise.all([firstOf(a), firstOf(b)]), [WATCH, "/kube/apis/x?limit=1&watch=1"]);
    watches[0]?.end(Buffer.from("last"));
    assert.equal(await endOf(a), 0);
    watches[1]?.write(Buffer.from("more"));
    assert.equal(await firstOf(b), "more");
    watches[1]?.destroy();
    assert.equal(await endOf(b), constants.NGHTTP2_INTERNAL_ERROR);
    assert.equal(watches[1]?.destroyed, true);
    assert.equal(shared.destroyed, false);
  });

  test("end for the server when the peer drops them, or is gone", async () => {
    const { session, watches, counted } = await serve();
    const shared = await session();
    const [a, b] = [ask(shared), ask(shared)];
    await Promise.all([firstOf(a), firstOf(b)]);
    const [one, two] = watches.map((response) => once(response, "close"));
    a.close(constants.NGHTTP2_CANCEL);
    await one;
    shared.destroy();
    await two;
    assert.deepEqual(counted, ["/kube 200", "/kube 200"]);
    assert.equal(watches[1]?.write(Buffer.from("nobody")), true);
  });

  test("are held back while nobody reads them", async () => {
    const { session, watches } = await serve();
    const shared = await session();
    const stream = ask(shared);
    await firstOf(stream);
    stream.pause();
    const [response] = watches as [ServerResponse];
    let written = 0;
    const chunk = Buffer.alloc(16 * 1024);
    for (let more = true; more && written < 16 * 1024 * 1024; written += chunk.length) {
      more = response.write(chunk);
      if (!more) more = await Promise.race([once(response, "drain").then(() => true), later(300)]);
    }
    assert.ok(written < 1024 * 1024, `${written} bytes were taken for nobody`);
  });

  for (const [what, path, headers, whole] of [
    ["a question of the agents' protocol", "/fjord/v1/open", {}, true],
    ["a list", "/kube/api/v1/pods", {}, true],
    ["a log", "/kube/api/v1/namespaces/a/pods/b/log?follow=true", {}, true],
    ["a write", WATCH, { ":method": "POST" }, true],
    ["a watch with a body", WATCH, {}, false],
    ["a watch of what is no prefix", "/kubernetes?watch=true", {}, true],
  ] as const) {
    test(`${what} is asked for in the older way, and the connection takes no more`, async () => {
      const { session, watches, counted } = await serve();
      const shared = await session();
      const before = ask(shared);
      await firstOf(before);
      const told = once(shared, "goaway");
      assert.equal(await endOf(ask(shared, path, headers, whole)), constants.NGHTTP2_HTTP_1_1_REQUIRED);
      await told;
      assert.deepEqual(counted, ["none 505"]);
      watches[0]?.write(Buffer.from("as before"));
      assert.equal(await firstOf(before), "as before");
      assert.equal(watches.length, 1);
    });
  }

  test("are not for who is unknown", async () => {
    const { counted, dial } = await serve();
    const none = await dial(stranger);
    await once(none.resume(), "close");
    assert.deepEqual(counted, ["refused SharedByStranger"]);
  });

  test("are on a few connections, of which the oldest makes room for one more: the peer may have lost it", async () => {
    const { session, counted, watches } = await serve({ sharedPerPeer: 2 });
    const lost = await session();
    await firstOf(ask(lost));
    const second = await session();
    await firstOf(ask(second));
    const [ended, heard] = [once(lost, "close"), once(watches[0] as ServerResponse, "close")];
    const third = await session();
    assert.equal(await firstOf(ask(third)), WATCH);
    await Promise.all([ended, heard]);
    assert.equal(await firstOf(ask(second)), WATCH);
    assert.deepEqual(counted, ["refused TooManyOfPeer", "/kube 200"]);
  });

  test("are as many as agreed, and more wait or are refused", async () => {
    const { session, watches } = await serve({ watchesShared: 3 });
    const shared = await session();
    await once(shared, "remoteSettings");
    assert.equal(shared.remoteSettings.maxConcurrentStreams, 3);
    const asked = Array.from({ length: 5 }, () => ask(shared));
    await Promise.all(asked.slice(0, 3).map(firstOf));
    assert.equal(watches.length, 3);
  });

  test("leave a connection that is ended when it has been idle", async () => {
    const { session } = await serve({ idleMs: 100 });
    const silent = await session();
    await once(silent, "close");
    const shared = await session();
    const stream = ask(shared);
    await firstOf(stream);
    await later(300);
    assert.equal(shared.destroyed, false);
    stream.close(constants.NGHTTP2_CANCEL);
    await once(shared, "close");
  });
});

describe("a peer that means harm, over HTTP/2", () => {
  test("may not begin and drop watches without end", async () => {
    const { dial, watches } = await serve({ droppedBurst: 20, droppedPerSecond: 1 });
    const socket = await dial();
    const cancel = Buffer.from([0, 0, 0, 8]);
    const next = (index: number) => {
      const id = 2 * index + 1;
      return Buffer.concat([frame(1, END_STREAM | END_HEADERS, id, watchHead()), frame(3, 0, id, cancel)]);
    };
    const taken = await pour(socket, next, 5_000);
    assert.ok(taken !== undefined, "it went on");
    assert.ok(watches.length > 0 && watches.length < 100, `${watches.length} watches were begun`);
  });

  for (const [what, next, most] of [
    ["pings", () => frame(6, 0, 0, Buffer.alloc(8)), 200_000],
    ["settings", () => frame(4, 0, 0, Buffer.from([0, 4, 0, 1, 0, 0])), 200_000],
  ] as const) {
    test(`${what} without end, whose answers it does not read, take no memory without end`, async () => {
      const { dial } = await serve();
      const socket = await dial();
      const before = process.memoryUsage().rss;
      socket.pause();
      socket.on("error", () => {});
      socket.write(PREFACE);
      let taken = 0;
      while (taken < most && !socket.destroyed) {
        if (!socket.write(next()) && !(await Promise.race([once(socket, "drain"), closed(socket), later(500)]))) break;
        taken++;
      }
      const grown = process.memoryUsage().rss - before;
      assert.ok(grown < 64 * 1024 * 1024, `${grown} bytes more after ${taken} frames`);
      socket.destroy();
    });
  }

  test("leaves no watch behind when it is gone with all unread", async () => {
    const { dial, watches } = await serve({ pingMs: 50, silentMs: 300 });
    const socket = await dial();
    socket.on("error", () => {}).pause();
    const most = Buffer.from([0x7f, 0xff, 0xff, 0xff]);
    const settings = frame(4, 0, 0, Buffer.concat([Buffer.from([0, 4]), most]));
    const window = frame(8, 0, 0, Buffer.from([0x7f, 0, 0, 0]));
    const heads = Array.from({ length: 64 }, (_, index) =>
      frame(1, END_STREAM | END_HEADERS, 2 * index + 1, watchHead()),
    );
    socket.write(Buffer.concat([PREFACE, settings, window, ...heads]));
    while (watches.length < 64) await later(5);
    const ended = Promise.all(watches.map(closed));
    for (const response of watches) void writeOnAndOn(response);
    // Until neither kernel takes any more.
    await later(500);
    socket.destroy();
    assert.ok(
      await Promise.race([ended, later(10_000)]),
      `${watches.filter(({ destroyed }) => !destroyed).length} are left`,
    );
  });

  test("may not send headers without end", async () => {
    const { dial, watches } = await serve();
    // A header that nothing is known of, and then as many continuations as are taken.
    const header = Buffer.concat([Buffer.from([0, 1, 97, 100]), Buffer.alloc(100, 98)]);
    const block = Buffer.concat(Array.from({ length: 100 }, () => header));
    const next = (index: number) => (index === 0 ? frame(1, END_STREAM, 1, watchHead()) : frame(9, 0, 1, block));
    const taken = await pour(await dial(), next, 5_000);
    assert.ok(taken !== undefined, "it went on");
    assert.equal(watches.length, 0);
  });

  test("may not send more headers than a request has, and others are answered", async () => {
    const { session, watches } = await serve();
    const shared = await session();
    const many = Object.fromEntries(Array.from({ length: 100 }, (_, index) => [`x-${index}`, "1"]));
    assert.equal(await endOf(ask(shared, WATCH, many)), constants.NGHTTP2_ENHANCE_YOUR_CALM);
    assert.equal(await endOf(ask(shared, WATCH, { large: "x".repeat(40_000) })), constants.NGHTTP2_ENHANCE_YOUR_CALM);
    assert.equal(watches.length, 0);
    assert.equal(await firstOf(ask(shared)), WATCH);
  });

  test("has a connection ended that is no HTTP/2", async () => {
    const { dial, session } = await serve();
    const socket = await dial();
    socket.write("GET /kube/api/v1/pods?watch=true HTTP/1.1\r\nhost: x\r\n\r\n");
    await once(
      socket.resume().on("error", () => {}),
      "close",
    );
    assert.equal(await firstOf(ask(await session())), WATCH);
  });
});

/** As a watch with very many events. */
async function writeOnAndOn(response: ServerResponse): Promise<void> {
  const gone = closed(response);
  while (!response.destroyed)
    if (!response.write(Buffer.alloc(32 * 1024))) await Promise.race([once(response, "drain"), gone]);
}

function later(ms: number): Promise<false> {
  return new Promise((resolve) => setTimeout(resolve, ms, false));
}

function closed(socket: TLSSocket | ServerResponse): Promise<true> {
  return new Promise((resolve) => socket.once("close", () => resolve(true)));
}
