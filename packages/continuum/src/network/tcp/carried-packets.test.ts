import assert from "node:assert/strict";
import { createSocket, type Socket as UdpSocket } from "node:dgram";
import { once } from "node:events";
import { after, test } from "node:test";
import { newObject, Site } from "@fjord/api";
import { silentLogger, systemClock } from "@fjord/base";
import { PeerTls, SiteKey } from "../../identity/index.ts";
import { LiveRemoteSites, ParkedConnections, PeerServer, siteRoute } from "../../peering/index.ts";
import { TcpCarrier } from "./tcp-carrier.ts";
import { noTcpMetrics } from "./tcp-metrics.ts";

const means = { clock: systemClock, random: Math.random, logger: silentLogger };
const stop = new AbortController();
const runs: Promise<void>[] = [];
const gateways: UdpSocket[] = [];
after(async () => {
  stop.abort();
  for (const each of gateways) each.close();
  await Promise.all(runs);
});

async function testSite() {
  const key = await SiteKey.generate();
  const gateway = createSocket("udp4").bind(0, "127.0.0.1");
  gateways.push(gateway);
  await once(gateway, "listening");
  return { id: key.id, tls: new PeerTls({ key, ...means }), gateway };
}

/** The carrier of a site whose gateway is a UDP socket on this machine. */
function carrierOf({ gateway }: { gateway: UdpSocket }, sites: { get(id: string): never | undefined }): TcpCarrier {
  const { port } = gateway.address();
  const own = newObject(Site, { metadata: { name: "own" }, spec: { network: { port } } });
  const links = { get: () => ({ status: { tcpSource: "127.0.0.1" } }) };
  const carrier = new TcpCarrier({
    home: { ...means, caches: { open: () => ({ cache: links }) } as never },
    own: { object: () => own as Site },
    sites,
    address: "127.0.0.1",
    metrics: noTcpMetrics,
  });
  runs.push(carrier.run(stop.signal));
  return carrier;
}

test("packets of two gateways go over the agents' mutual TLS, to whom there is a link with, and end with it", async () => {
  const [home, away] = await Promise.all([testSite(), testSite()]);
  const siteObject = (id: string, endpoints: string[] = []) =>
    newObject(Site, { metadata: { name: `site-${id.slice(0, 8)}` }, spec: { id, endpoints } }) as Site;
  const there = carrierOf(away, { get: () => undefined });
  const server = new PeerServer({
    ...means,
    tls: away.tls,
    siteOf: (id) => (id === home.id ? siteObject(id) : undefined),
    routes: [siteRoute({ id: away.id, published: () => ({}), endpoints: () => [], contractsOf: () => [] })],
    rawRoutes: [there],
    host: "127.0.0.1",
    port: 0,
  });
  runs.push(server.run(stop.signal));
  const endpoint = `https://127.0.0.1:${(await server.listen())?.port}`;
  const remotes = new LiveRemoteSites({
    ...means,
    sites: {
      get: (id) => (id === away.id ? siteObject(id, [endpoint]) : undefined),
      onChange: (listener) => {
        listener(away.id);
        return () => {};
      },
    },
    tls: home.tls,
    parked: new ParkedConnections(means),
    timing: { beatMs: 50, timeoutMs: 1_000, retryMs: 50 },
  });
  runs.push(remotes.run(stop.signal));
  const here = carrierOf(home, remotes as never);
  const ports = await Promise.all([here.open(away.id), there.open(home.id)]);
  const [toAway = 0, toHome = 0] = ports.map((each) => Number(each?.split(":")[1]));

  const packet = Buffer.alloc(148, 7);
  packet.writeUInt32LE(1, 0);
  /** Until an answer of the other gateway comes, as WireGuard does. */
  const ask = async (from: UdpSocket, port: number, to: UdpSocket): Promise<Buffer> => {
    const again = setInterval(() => from.send(packet, port, "127.0.0.1"), 200);
    try {
      const [bytes] = (await once(to, "message", { signal: AbortSignal.timeout(30_000) })) as [Buffer];
      return bytes;
    } finally {
      clearInterval(again);
    }
  };
  assert.equal((await ask(home.gateway, toAway, away.gateway)).length, 148);
  assert.equal((await ask(away.gateway, toHome, home.gateway)).length, 148, "and back, though nobody can dial home");

  there.close(home.id);
  const heard: Buffer[] = [];
  await new Promise((resolve) => setTimeout(resolve, 300));
  away.gateway.on("message", (bytes) => heard.push(bytes));
  for (let i = 0; i < 5; i++) {
    home.gateway.send(packet, toAway, "127.0.0.1");
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
  assert.deepEqual(heard, []);
});
