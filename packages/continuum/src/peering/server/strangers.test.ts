// Strangers that take what peers need of an agent's port: they have no certificate, or one that nobody knows.
import assert from "node:assert/strict";
import { once } from "node:events";
import { connect as connectTcp, type Socket } from "node:net";
import { after, describe, test } from "node:test";
import type { TLSSocket } from "node:tls";
import { PeerServer, type PeerServerOptions } from "./peer-server.ts";
import { means, siteObject, testSite } from "./test-sites.ts";

const [provider, peer, stranger] = await Promise.all([testSite(), testSite(), testSite()]);
const stop = new AbortController();
const runs: Promise<void>[] = [];
const dialled: { destroy(): void }[] = [];
after(async () => {
  for (const socket of dialled) socket.destroy();
  stop.abort();
  await Promise.all(runs);
});

async function start(limits: PeerServerOptions["limits"]) {
  const refused: string[] = [];
  const server = new PeerServer({
    ...means,
    tls: provider.tls,
    siteOf: (id) => (id === peer.id ? siteObject(peer.id) : undefined),
    routes: [],
    rawRoutes: [],
    host: "127.0.0.1",
    port: 0,
    peerMetrics: {
      request() {},
      connectionRefused: (reason) => void refused.push(reason),
      connections() {},
      proxied() {},
    },
    ...(limits && { limits }),
  });
  const port = (await server.listen())?.port ?? 0;
  runs.push(server.run(stop.signal));
  return { port, refused };
}

/** Half a record of TLS, and nothing more. */
async function silent(port: number, localAddress = "127.0.0.1"): Promise<Socket> {
  const socket = connectTcp({ port, host: "127.0.0.1", localAddress });
  socket.on("error", () => {}).resume();
  dialled.push(socket);
  await once(socket, "connect");
  socket.write(Buffer.from([22, 3, 1, 32, 0]));
  return socket;
}

describe("strangers at an agent's port", () => {
  test("are ended when they do not shake hands in time", async () => {
    const { port, refused } = await start({ handshakeMs: 100 });
    await once(await silent(port), "close");
    assert.deepEqual(refused, ["Handshake"]);
  });

  test("that begin and say nothing lose their oldest, and keep no peer out", async () => {
    const { port, refused } = await start({ handshakes: 8, handshakeMs: 60_000 });
    const first = await silent(port, "127.0.0.2");
    const ended = once(first, "close");
    for (let index = 0; index < 20; index++) await silent(port, "127.0.0.2");
    await ended;
    assert.ok(refused.includes("TooManyHandshakes"), refused.join());
    const socket = await peer.tls.connect(`https://127.0.0.1:${port}`, provider.id);
    dialled.push(socket);
    const before = refused.length;
    await silent(port, "127.0.0.2");
    await until(() => refused.length > before);
    assert.ok(!socket.destroyed, "whoever is known is not among those that begin");
  });

  test("that stay lose their oldest, and keep no other stranger from pairing", async () => {
    const { port, refused } = await start({ connectionsOfStrangers: 4 });
    const dial = () => stranger.tls.connect(`https://127.0.0.1:${port}`, provider.id);
    const sockets: TLSSocket[] = [];
    for (let index = 0; index < 5; index++) {
      const socket = await dial();
      dialled.push(socket.on("error", () => {}).resume());
      sockets.push(socket);
    }
    await until(() => refused.includes("TooManyStrangers"));
    await until(() => sockets[0]?.destroyed);
    assert.deepEqual(
      sockets.map(({ destroyed }) => destroyed),
      [true, false, false, false, false],
    );
  });
});

async function until(condition: () => boolean | undefined): Promise<void> {
  while (!condition()) await new Promise((resolve) => setTimeout(resolve, 5));
}
