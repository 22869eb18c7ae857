import assert from "node:assert/strict";
import { once } from "node:events";
import { type AddressInfo, createConnection, createServer, type Socket } from "node:net";
import { text } from "node:stream/consumers";
import { after, describe, test } from "node:test";
import { CONSUMER_LABEL, newObject, Site } from "@fjord/api";
import { silentLogger, systemClock } from "@fjord/base";
import { PeerTls, SiteKey } from "../../identity/index.ts";
import { PeerRefused } from "../../peer-refused-error.ts";
import { LiveRemoteSites, ParkedConnections, PeerServer, siteRoute, TunnelDialler } from "../../peering/index.ts";
import type { RemoteSites } from "../../remote-site.ts";
import { CarriedConnections, MOST_CONNECTIONS } from "./carried.ts";
import { CONNECT_UPGRADE, connectPath } from "./connect-path.ts";
import { ConnectRoute } from "./connect-route.ts";
import { noProxyMetrics, type ProxyMetrics } from "./proxy-metrics.ts";
import { SharedNamespaces } from "./shared-namespaces.ts";
import { StandIns } from "./stand-ins.ts";
import { TestCaches } from "./test-caches.ts";

const means = { clock: systemClock, random: Math.random, logger: silentLogger };

async function testSite() {
  const key = await SiteKey.generate();
  return { id: key.id, tls: new PeerTls({ key, clock: systemClock, logger: silentLogger }) };
}

const siteObject = (id: string, endpoints: readonly string[] = []): Site =>
  newObject(Site, { metadata: { name: `site-${id.slice(0, 8)}` }, spec: { id, endpoints: [...endpoints] } });

const [consumer, provider, other] = await Promise.all([testSite(), testSite(), testSite()]);
const stop = new AbortController();
const runs: Promise<void>[] = [];
after(async () => {
  stop.abort();
  await Promise.all(runs);
});

// Others may test on the same machine, and all of 127.0.0.0/8 is this machine.
const place = `127.${30 + Math.floor(Math.random() * 30)}.${Math.floor(Math.random() * 250)}`;
const SERVER = `${place}.7`;
const STAND_IN = `${place}.135`;
const namings = [{ range: `${place}.0/25`, called: `${place}.128/25` }];
const plan = (site: string, fields: object) => ({
  metadata: { name: site },
  spec: { site, carrier: "Proxy", own: [], peer: [], ...fields },
});
const slice = (namespace: string, address: string, port: number) => ({
  metadata: { name: "web", namespace },
  endpoints: [{ addresses: [address] }],
  ports: [{ port }],
});
const guest = (namespace: string, podIP: string, consumerId: string) => ({
  metadata: { name: "web", namespace, labels: { [CONSUMER_LABEL]: consumerId } },
  spec: { containers: [] },
  status: { phase: "Running", podIP },
});

/** What runs in a pod of the provider's. */
async function serve(answer: (socket: Socket) => void): Promise<number> {
  const server = createServer({ allowHalfOpen: true }, (socket) => answer(socket.on("error", () => {})));
  server.listen(0, SERVER);
  await once(server, "listening");
  stop.signal.addEventListener("abort", () => server.close());
  return (server.address() as AddressInfo).port;
}

/** Two sites that share a namespace, with one guest that serves at the port. */
async function pair(
  port: number,
  { tunnelled = false, whileDialling }: { tunnelled?: boolean; whileDialling?: (there: TestCaches) => void } = {},
) {
  const counted: string[] = [];
  const bytes = { sent: 0, received: 0 };
  const metrics: ProxyMetrics = {
    ...noProxyMetrics,
    refused: (_, asker, reason) => counted.push(`${asker} ${reason}`),
  };
  const there = new TestCaches();
  there.put("addressplans", plan(consumer.id, { own: namings }), plan(other.id, { own: namings }));
  there.put("namespaces", { metadata: { name: "shop-twin", labels: { [CONSUMER_LABEL]: consumer.id } } });
  there.put("namespaces", { metadata: { name: "theirs", labels: { [CONSUMER_LABEL]: other.id } } });
  there.put("pods", guest("shop-twin", SERVER, consumer.id), guest("theirs", `${place}.8`, other.id));
  there.put("endpointslices", slice("shop-twin", SERVER, port));
  const noTwins = { namespacesAt: () => [], onChange: () => () => {} } as never;
  const contracts = { of: () => [{}], onChange: () => () => {} } as never;
  const home = { ...means, caches: there.caches };
  const route = new ConnectRoute({
    home,
    twins: noTwins,
    shared: new SharedNamespaces({ home, twins: noTwins, contracts }),
    metrics,
    ...(whileDialling && {
      dial: async ({ address, port }) => {
        const socket = createConnection({ host: address, port, allowHalfOpen: true }).on("error", () => {});
        await once(socket, "connect");
        whileDialling(there);
        return socket;
      },
    }),
  });
  const site = siteRoute({ id: provider.id, published: () => ({}), endpoints: () => [], contractsOf: () => [] });
  const listening = new AbortController();
  const server = new PeerServer({
    ...means,
    tls: provider.tls,
    siteOf: (id) => (id === consumer.id || id === other.id ? siteObject(id) : undefined),
    routes: [site],
    rawRoutes: [route],
    host: "127.0.0.1",
    ...(!tunnelled && { port: 0 }),
  });
  const until = AbortSignal.any([stop.signal, listening.signal]);
  runs.push(server.run(until), route.run(until));
  const address = await server.listen();
  const endpoints = address === undefined ? [] : [`https://127.0.0.1:${address.port}`];

  const parked = new ParkedConnections(means);
  const sites = {
    get: (id: string) => (id === provider.id ? siteObject(id, endpoints) : undefined),
    onChange: (listener: (id: string) => void) => {
      listener(provider.id);
      return () => {};
    },
  };
  const timing = { beatMs: 50, timeoutMs: 1_000, retryMs: 50 };
  const remotes = new LiveRemoteSites({ ...means, sites, tls: consumer.tls, parked, timing });
  runs.push(remotes.run(stop.signal));
  if (tunnelled) {
    const desk = new PeerServer({
      ...means,
      tls: consumer.tls,
      siteOf: (id) => (id === provider.id ? siteObject(id) : undefined),
      routes: [],
      rawRoutes: [parked],
      host: "127.0.0.1",
      port: 0,
    });
    runs.push(desk.run(stop.signal));
    const at = `https://127.0.0.1:${(await desk.listen())?.port}`;
    const dialler = new TunnelDialler({
      ...means,
      tls: provider.tls,
      peers: () => [{ id: consumer.id, endpoints: [at] }],
      onPeersChange: () => () => {},
      serve: (socket, caller) => server.serve(socket, caller),
    });
    runs.push(dialler.run(until));
  }

  const here = new TestCaches();
  here.put("addressplans", plan(provider.id, { peer: namings }));
  here.put("endpointslices", slice("shop", STAND_IN, port), slice("private", `${place}.140`, port));
  const twins = { namespacesAt: () => ["shop"], onChange: () => () => {} } as never;
  const ownHome = { ...means, caches: here.caches };
  const standIns = new StandIns({
    home: ownHome,
    sites: remotes as RemoteSites,
    shared: new SharedNamespaces({
      home: ownHome,
      twins,
      contracts: { of: () => [], onChange: () => () => {} } as never,
    }),
    metrics: { ...metrics, sent: (_, n) => (bytes.sent += n), received: (_, n) => (bytes.received += n) },
  });
  const standing = new AbortController();
  runs.push(standIns.run(AbortSignal.any([stop.signal, standing.signal])));
  return {
    there,
    here,
    counted,
    bytes,
    remote: remotes.get(provider.id),
    endpoints,
    listening,
    end: () => standing.abort(),
  };
}

/** Connects as a pod would; tries again until somebody listens. */
async function dial(port: number, host = STAND_IN): Promise<Socket> {
  for (;;) {
    const socket = createConnection({ host, port, allowHalfOpen: true });
    try {
      await once(socket, "connect");
      return socket.on("error", () => {});
    } catch {
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
  }
}

function reset(socket: Socket): Promise<void> {
  return assert.rejects(once(socket.resume(), "close"), { code: "ECONNRESET" });
}

describe("a pod reaches a Service of another site", () => {
  for (const tunnelled of [false, true])
    test(tunnelled ? "that cannot be dialled" : "by its stand-in, as if it were here", async () => {
      const port = await serve((socket) => {
        // It answers when it has heard all, as one that reads until the end of what is sent.
        void text(socket).then((asked) => socket.end(`heard ${asked.length}`));
      });
      const { bytes, end } = await pair(port, { tunnelled });
      const socket = await dial(port);
      socket.end("x".repeat(1_000_000));
      assert.equal(await text(socket), "heard 1000000");
      assert.deepEqual(bytes, { sent: 1_000_000, received: 13 });
      end();
    });

  test("and is cut off when the namespace is no longer shared, and where the other agent dies", async () => {
    const port = await serve((socket) => void socket.write("hello"));
    const { there, listening, end } = await pair(port);
    const first = await dial(port);
    await once(first, "data");
    const cut = reset(first);
    there.remove("namespaces", "shop-twin");
    await cut;
    const refused = await dial(port);
    await reset(refused);
    there.put("namespaces", { metadata: { name: "shop-twin", labels: { [CONSUMER_LABEL]: consumer.id } } });
    const second = await dial(port);
    await once(second, "data");
    const gone = reset(second);
    listening.abort();
    await gone;
    // Nobody listens any more, so that whoever tries takes the next endpoint.
    for (let error: unknown; (error as NodeJS.ErrnoException | undefined)?.code !== "ECONNREFUSED"; ) {
      const socket = createConnection({ host: STAND_IN, port });
      error = await once(socket, "close").then(
        () => undefined,
        (reason) => reason,
      );
    }
    end();
  });
});

test("what ceases to be shared while the pod is dialled is not led there", async () => {
  const port = await serve((socket) => void socket.write("hello"));
  const { counted, end } = await pair(port, { whileDialling: (there) => there.remove("namespaces", "shop-twin") });
  const socket = await dial(port);
  await reset(socket);
  assert.equal(socket.bytesRead, 0);
  assert.deepEqual(counted, ["peer NotShared", "here NotShared"]);
  end();
});

describe("a hostile peer", () => {
  test("is led nowhere but to what is shared with it, and counted", async () => {
    let reached = 0;
    const port = await serve((socket) => {
      reached++;
      socket.destroy();
    });
    const { remote, counted, end } = await pair(port);
    assert.ok(remote);
    const ask = (path: string, protocol = CONNECT_UPGRADE) =>
      remote.connect(path, protocol, AbortSignal.timeout(30_000)).then(
        () => assert.fail(`${path} was let through`),
        (error: unknown) => {
          assert.ok(error instanceof PeerRefused, `${path}: ${error}`);
          return error.refusal.code;
        },
      );
    for (const [address, at] of [
      [SERVER, 22],
      [`${place}.8`, port],
      ["127.0.0.1", port],
      ["127.0.0.1", 6443],
      ["10.0.0.1", 443],
      ["169.254.169.254", 80],
      [STAND_IN, port],
    ] as const)
      assert.equal(await ask(connectPath({ address, port: at })), "NotShared", `${address}:${at}`);
    for (const path of ["/fjord/v1/connect/localhost/80", "/fjord/v1/connect/127.0.0.1/80/../x", "/fjord/v1/connect"])
      assert.equal(await ask(path), "NoConnection", path);
    assert.equal(await ask(connectPath({ address: SERVER, port }), "websocket"), "NoConnection");
    assert.deepEqual(
      [
        counted.filter((each) => each === "peer NotShared").length,
        counted.filter((each) => each === "peer NoConnection").length,
      ],
      [7, 4],
    );
    assert.equal(reached, 0);
    end();
  });

  test("has no more connections at once than one may have, and no namespace has all of them", () => {
    const connections = new CarriedConnections("peer", noProxyMetrics);
    const takeAll = (namespace: string) => {
      const places: (() => void)[] = [];
      for (let place = connections.take("wave", namespace); place; place = connections.take("wave", namespace))
        places.push(place);
      return places;
    };
    const places = takeAll("greedy");
    assert.equal(places.length, MOST_CONNECTIONS / 2);
    assert.ok(takeAll("second").length >= MOST_CONNECTIONS / 4, "others are not hindered by it");
    assert.ok(takeAll("third").length >= MOST_CONNECTIONS / 8);
    assert.equal(connections.take("wave", "greedy"), undefined);
    assert.notEqual(connections.take("wood", "greedy"), undefined, "nor at other peers");
    for (const place of places) {
      place();
      place();
    }
    assert.equal(takeAll("greedy").length, (MOST_CONNECTIONS - MOST_CONNECTIONS / 4 - MOST_CONNECTIONS / 8) / 2);
  });
});
