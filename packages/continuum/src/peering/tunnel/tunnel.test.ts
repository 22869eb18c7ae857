import assert from "node:assert/strict";
import { once } from "node:events";
import { type IncomingMessage, request } from "node:http";
import type { Socket } from "node:net";
import type { Duplex } from "node:stream";
import { text } from "node:stream/consumers";
import { after, describe, test } from "node:test";
import type { RawRoute } from "../../peer-routes.ts";
import { PeerServer } from "../server/peer-server.ts";
import { means, siteObject, testSite } from "../server/test-sites.ts";
import { NoParkedConnection } from "./errors.ts";
import { ParkedConnections } from "./parked-connections.ts";
import { TunnelDialler } from "./tunnel-dialler.ts";

const [hidden, open] = await Promise.all([testSite(), testSite()]);
const stop = new AbortController();
const runs: Promise<void>[] = [];
after(async () => {
  stop.abort();
  await Promise.all(runs);
});

let isForgotten = false;
const parked = new ParkedConnections({ clock: means.clock, waitMs: 30_000 });
const openServer = serverOf(open, [parked], 0);
const endpoint = `https://127.0.0.1:${(await openServer.listen())?.port}`;
runs.push(openServer.run(stop.signal));

let served = 0;
const raw: RawRoute = {
  prefix: "/raw",
  access: "peer",
  handle(incoming, response, caller) {
    served++;
    if (incoming.url === "/raw/stream") {
      response.writeHead(200);
      response.write("one\n");
      setTimeout(() => response.end("two\n"), 50);
    } else response.end(`${caller.id} ${incoming.url}`);
  },
  upgrade(_request, socket) {
    socket.write("HTTP/1.1 101 Switching Protocols\r\nconnection: Upgrade\r\nupgrade: echo\r\n\r\n");
    socket.pipe(socket);
  },
};
const hiddenServer = serverOf(hidden, [raw]);
runs.push(hiddenServer.run(stop.signal));

let peers = [{ id: open.id, endpoints: [endpoint] }];
let follow = () => {};
const dialler = new TunnelDialler({
  ...means,
  tls: hidden.tls,
  peers: () => peers,
  onPeersChange: (listener) => {
    follow = listener;
    return () => {};
  },
  serve: (socket, caller) => hiddenServer.serve(socket, caller),
  idle: 2,
});
runs.push(dialler.run(stop.signal));

function serverOf(site: typeof open, rawRoutes: RawRoute[], port?: number): PeerServer {
  const siteOf = (id: string) => (isForgotten ? undefined : siteObject(id));
  const isParting = () => isForgotten;
  const where = port === undefined ? {} : { port, host: "127.0.0.1" };
  return new PeerServer({ ...means, tls: site.tls, siteOf, isParting, routes: [], rawRoutes, ...where });
}

async function ask(socket: Duplex, path: string): Promise<string> {
  const asked = request({ createConnection: () => socket as Socket, path, headers: { connection: "keep-alive" } });
  asked.end();
  const [response] = (await once(asked, "response")) as [IncomingMessage];
  return await text(response);
}

describe("a site without an endpoint", () => {
  test("is asked over a connection that it has opened, and knows who asks", async () => {
    const socket = await parked.take(hidden.id);
    assert.equal(await ask(socket, "/raw/a"), `${open.id} /raw/a`);
    assert.equal(await ask(socket, "/raw/b"), `${open.id} /raw/b`);
    socket.destroy();
  });

  test("serves more at once than it has parked", async () => {
    const answers = Array.from({ length: 20 }, async (_, i) => {
      const socket = await parked.take(hidden.id);
      const answer = await ask(socket, i % 2 === 0 ? "/raw/stream" : "/raw/x");
      socket.destroy();
      return answer;
    });
    assert.equal(new Set(await Promise.all(answers)).size, 2);
    assert.ok(served >= 20);
  });

  test("takes upgrades", async () => {
    const socket = await parked.take(hidden.id);
    const headers = { connection: "Upgrade", upgrade: "echo" };
    const asked = request({ createConnection: () => socket as Socket, path: "/raw/e", headers });
    asked.end();
    const [, upgraded] = (await once(asked, "upgrade")) as [IncomingMessage, Duplex];
    upgraded.write("hello");
    assert.equal(String((await once(upgraded, "data"))[0]), "hello");
    upgraded.destroy();
  });

  test("parks again after its connections were reset", async () => {
    const socket = await parked.take(hidden.id);
    socket.destroy();
    assert.equal(await ask(await parked.take(hidden.id), "/raw/c"), `${open.id} /raw/c`);
  });

  test("can be told what ends while it is being forgotten, and is given nothing else", async () => {
    isForgotten = true;
    // More than there were before.
    for (let i = 0; i < 4; i++) {
      const socket = await parked.take(hidden.id);
      assert.match(await ask(socket, "/raw/d"), /NotPaired/);
      socket.destroy();
    }
    isForgotten = false;
  });

  test("does not dial as fast as it can a peer that takes each connection and drops it", async () => {
    const hostile = await testSite();
    let taken = 0;
    const greedy: RawRoute = {
      prefix: parked.prefix,
      access: "peer",
      upgrade(_request, socket) {
        taken++;
        socket.write("HTTP/1.1 101 Switching Protocols\r\nconnection: Upgrade\r\nupgrade: fjord-tunnel\r\n\r\n");
        if (taken % 2 === 0) socket.write("x");
        socket.end();
      },
    };
    const server = serverOf(hostile, [greedy], 0);
    const address = `https://127.0.0.1:${(await server.listen())?.port}`;
    const enough = new AbortController();
    const busy = new TunnelDialler({
      ...means,
      tls: hidden.tls,
      peers: () => [{ id: hostile.id, endpoints: [address] }],
      onPeersChange: () => () => {},
      serve: (socket, caller) => hiddenServer.serve(socket, caller),
      dials: { burst: 8, perSecond: 5 },
    });
    const began = Date.now();
    const ended = [server.run(enough.signal), busy.run(enough.signal)];
    while (taken < 12) await new Promise((resolve) => setTimeout(resolve, 10));
    await new Promise((resolve) => setTimeout(resolve, 1_000));
    enough.abort();
    await Promise.all(ended);
    const seconds = (Date.now() - began) / 1_000;
    assert.ok(taken <= 8 + 5 * seconds + 1, `${taken} connections in ${seconds} s`);
  });

  test("is not there once it has stopped dialling", async () => {
    const impatient = new ParkedConnections({ clock: means.clock, waitMs: 20 });
    await assert.rejects(impatient.take(hidden.id), NoParkedConnection);
    peers = [];
    follow();
    const gone = async () => {
      for (;;) (await parked.take(hidden.id, AbortSignal.timeout(500))).destroy();
    };
    await assert.rejects(gone(), /timeout/i);
    peers = [{ id: open.id, endpoints: ["https://127.0.0.1:1", endpoint] }];
    follow();
    assert.equal(await ask(await parked.take(hidden.id), "/raw/d"), `${open.id} /raw/d`);
  });
});
