import assert from "node:assert/strict";
import { createSocket, type Socket as UdpSocket } from "node:dgram";
import { once } from "node:events";
import { type AddressInfo, createConnection, createServer, type Socket } from "node:net";
import { text } from "node:stream/consumers";
import { after, describe, test } from "node:test";
import { CONSUMER_LABEL, newObject, ORIGIN_NAMESPACE_LABEL, Site } from "@fjord/api";
import { silentLogger, systemClock } from "@fjord/base";
import { LocalClients } from "@fjord/node/local-clients";
import { PeerTls, SiteKey } from "../../identity/index.ts";
import { PeerRefused } from "../../peer-refused-error.ts";
import { LiveRemoteSites, ParkedConnections, PeerServer, siteRoute, TunnelDialler } from "../../peering/index.ts";
import type { RemoteSite, RemoteSites } from "../../remote-site.ts";
import { CarriedConnections, MOST_CONNECTIONS } from "./carried.ts";
import { CONNECT_PATH, CONNECT_UPGRADE, type Open, openText } from "./carried-open.ts";
import { CarriedParties } from "./carried-parties.ts";
import { Carriers } from "./carriers.ts";
import { ConnectRoute } from "./connect-route.ts";
import { FLOW, FlowFrameReader, flowFrame } from "./flow-frames.ts";
import { readMessage, writeMessage } from "./messages.ts";
import { noProxyMetrics, type ProxyMetrics } from "./proxy-metrics.ts";
import { SharedNamespaces } from "./shared-namespaces.ts";
import { StandIns } from "./stand-ins.ts";
import { TestCaches } from "./test-caches.ts";

const means = { clock: systemClock, random: Math.random, logger: silentLogger };

let handshakes = 0;

async function testSite() {
  const key = await SiteKey.generate();
  const tls = new PeerTls({ key, clock: systemClock, logger: silentLogger });
  const connect = tls.connect.bind(tls);
  tls.connect = (...words) => {
    handshakes++;
    return connect(...words);
  };
  return { id: key.id, tls };
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
/** What the consumer's pods are called at the provider. */
const clientNamings = [{ range: `${place}.0/26`, called: `${place}.192/26` }];
const CLIENT = `${place}.3`;
const twinOf = (consumerId: string) => ({
  metadata: { name: "shop-twin", labels: { [CONSUMER_LABEL]: consumerId, [ORIGIN_NAMESPACE_LABEL]: "shop" } },
});
const plan = (site: string, fields: object) => ({
  metadata: { name: site },
  spec: { site, carrier: "Proxy", own: [], peer: [], ...fields },
});
const slice = (namespace: string, address: string, port: number) => ({
  metadata: { name: "web", namespace },
  endpoints: [{ addresses: [address] }],
  ports: [
    { port, protocol: "TCP" },
    { port, protocol: "UDP" },
  ],
});
const guest = (namespace: string, podIP: string, consumerId: string) => ({
  metadata: { name: "web", namespace, labels: { [CONSUMER_LABEL]: consumerId, app: "web" } },
  spec: { containers: [] },
  status: { phase: "Running", podIP },
});

const homePod = (name: string, podIP: string, labels: Record<string, string>) => ({
  metadata: { name, namespace: "shop", labels },
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

/** The same, which answers each datagram with where it came from, and with itself. */
async function echo(port: number): Promise<void> {
  const socket: UdpSocket = createSocket("udp4", (message, from) => {
    if (message.toString() !== "flood") socket.send(`${from.address} ${message}`, from.port, from.address);
  });
  await new Promise<void>((resolve) => socket.bind(port, SERVER, resolve));
  stop.signal.addEventListener("abort", () => socket.close());
}

/** What comes back for a datagram, sent again until something does, or until it is sure that nothing will. */
async function answerTo(port: number, message: string, times = 600): Promise<string> {
  const socket = createSocket("udp4");
  try {
    for (let time = 0; time < times; time++) {
      socket.send(message, port, STAND_IN);
      const heard = once(socket, "message", { signal: AbortSignal.timeout(100) });
      const [answer] = await heard.catch(() => []);
      if (answer !== undefined) return String(answer);
    }
    return "";
  } finally {
    socket.close();
  }
}

/** Two sites that share a namespace, with one guest that serves at the port. */
async function pair(
  port: number,
  {
    tunnelled = false,
    waitMs,
    streams,
    whileDialling,
  }: {
    tunnelled?: boolean;
    waitMs?: number;
    streams?: { kept: number; ahead: number };
    whileDialling?: (there: TestCaches) => void;
  } = {},
) {
  const counted: string[] = [];
  const bytes = { sent: 0, received: 0 };
  const open = { open: 0, peerOpen: 0 };
  const metrics: ProxyMetrics = {
    ...noProxyMetrics,
    refused: (_, asker, reason) => counted.push(`${asker} ${reason}`),
  };
  const there = new TestCaches();
  there.put("addressplans", plan(consumer.id, { own: namings, peer: clientNamings }), plan(other.id, { own: namings }));
  there.put("namespaces", twinOf(consumer.id));
  there.put("namespaces", { metadata: { name: "theirs", labels: { [CONSUMER_LABEL]: other.id } } });
  there.put("pods", guest("shop-twin", SERVER, consumer.id), guest("theirs", `${place}.8`, other.id));
  there.put("endpointslices", slice("shop-twin", SERVER, port));
  const noTwins = { namespacesAt: () => [], onChange: () => () => {} } as never;
  const contracts = { of: () => [{}], onChange: () => () => {} } as never;
  const home = { ...means, caches: there.caches };
  const route = new ConnectRoute({
    home,
    parties: new CarriedParties(home),
    clients: new LocalClients(),
    shared: new SharedNamespaces({ home, twins: noTwins, contracts }),
    metrics: { ...metrics, open: (_, __, count) => (open.peerOpen = count) },
    ...(waitMs && { waitMs }),
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
  const timing = { beatMs: 200, timeoutMs: 20_000, retryMs: 50 };
  const remotes = new LiveRemoteSites({ ...means, sites, tls: consumer.tls, parked, timing });
  const standing = new AbortController();
  // To its end, and no longer: it would go on to dial a server that is gone, many times a second.
  const untilEnd = AbortSignal.any([stop.signal, standing.signal]);
  runs.push(remotes.run(untilEnd));
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
  here.put("addressplans", plan(provider.id, { peer: namings, own: clientNamings }));
  here.put("endpointslices", slice("shop", STAND_IN, port), slice("private", `${place}.140`, port));
  here.put("namespaces", { metadata: { name: "shop" } });
  here.put("pods", homePod("web", STAND_IN, { app: "web" }), homePod("client", CLIENT, { app: "client" }));
  const clients = new LocalClients();
  const twins = { namespacesAt: () => ["shop"], onChange: () => () => {} } as never;
  const ownHome = { ...means, caches: here.caches };
  const standIns = new StandIns({
    home: ownHome,
    sites: remotes as RemoteSites,
    parties: new CarriedParties(ownHome),
    clients,
    ...(streams && { streams }),
    shared: new SharedNamespaces({
      home: ownHome,
      twins,
      contracts: { of: () => [], onChange: () => () => {} } as never,
    }),
    metrics: {
      ...metrics,
      open: (_, __, count) => (open.open = count),
      sent: (_, n) => (bytes.sent += n),
      received: (_, n) => (bytes.received += n),
    },
  });
  runs.push(standIns.run(untilEnd));
  return {
    there,
    here,
    counted,
    clients,
    metrics: open,
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
      // One after the other, over the same streams.
      for (const times of [1, 2, 3]) {
        const socket = await dial(port);
        socket.end("x".repeat(1_000_000));
        assert.equal(await text(socket), "heard 1000000");
        assert.deepEqual(bytes, { sent: times * 1_000_000, received: times * 13 });
      }
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
    there.put("namespaces", twinOf(consumer.id));
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

describe("NetworkPolicies", () => {
  const policy = (namespace: string, spec: object) => ({
    metadata: { name: "only", namespace },
    spec: { podSelector: {}, ...spec },
  });
  const from = (labels: object) => ({ ingress: [{ from: [{ podSelector: { matchLabels: labels } }] }] });
  let pairs: Promise<Awaited<ReturnType<typeof pair>> & { port: number }> | undefined;
  /** One that serves for all of them. */
  const both = () => {
    pairs ??= serve((socket) => void socket.end(String(socket.remoteAddress))).then(async (port) => {
      await echo(port);
      const sites = await pair(port);
      while ((await byStream(port)) === "");
      sites.counted.length = 0;
      return { ...sites, port };
    });
    return pairs;
  };
  after(async () => (await pairs)?.end());

  interface Parts {
    readonly pod?: string;
    readonly namespace?: string;
    readonly here?: object;
    readonly there?: object;
  }

  /** Asks as a process of the pod would: this one is. */
  async function asked(parts: Parts, ask = byStream): Promise<{ heard: string; counted: string[] }> {
    const { here, there, clients, counted, port } = await both();
    const { pod, namespace = "shop" } = parts;
    const processes = () =>
      pod === undefined ? [] : [{ pid: process.pid, pod: { uid: pod, namespace, name: pod, address: CLIENT } }];
    const stop = clients.follow(processes);
    if (parts.here) here.put("networkpolicies", policy("shop", parts.here));
    if (parts.there) there.put("networkpolicies", policy("shop-twin", parts.there));
    const heard = await ask(port);
    stop();
    here.remove("networkpolicies", "only", "shop");
    there.remove("networkpolicies", "only", "shop-twin");
    return { heard, counted: counted.splice(0) };
  }

  async function byStream(port: number): Promise<string> {
    return await text(await dial(port)).catch(() => "");
  }

  test("let through whom they have, by labels at either side, and the server sees what stands in for the client", async () => {
    const only = from({ app: "client" });
    const seen = `${place}.195`;
    assert.deepEqual(await asked({ pod: "client", here: only, there: only }), { heard: seen, counted: [] });
    const out = { policyTypes: ["Egress"], egress: [{ to: [{ podSelector: { matchLabels: { app: "web" } } }] }] };
    assert.equal((await asked({ pod: "client", here: out })).heard, seen);
    // By the address that the client has there, as twins of policies may have it.
    const block = { ingress: [{ from: [{ ipBlock: { cidr: `${seen}/32` } }] }] };
    assert.equal((await asked({ pod: "client", there: block })).heard, seen);
  });

  test("keep out whom they do not have, at the side of either, and it is counted", async () => {
    const none = from({ app: "nobody" });
    assert.deepEqual(await asked({ pod: "client", here: none }), { heard: "", counted: ["here Policy"] });
    assert.deepEqual(await asked({ pod: "client", there: none }), {
      heard: "",
      counted: ["peer Policy", "here Policy"],
    });
    const out = { policyTypes: ["Egress"] };
    assert.deepEqual((await asked({ pod: "client", here: out })).counted, ["here Policy"]);
    const port = { ingress: [{ ports: [{ protocol: "TCP", port: 1 }] }] };
    assert.deepEqual((await asked({ pod: "client", there: port })).counted, ["peer Policy", "here Policy"]);
  });

  test("keep out a client that nobody knows, but where anybody may", async () => {
    assert.deepEqual((await asked({ here: from({ app: "client" }) })).counted, ["here ClientUnknown"]);
    assert.deepEqual((await asked({ here: { policyTypes: ["Egress"] } })).counted, ["here ClientUnknown"]);
    assert.deepEqual((await asked({ there: from({ app: "client" }) })).counted, [
      "peer ClientUnknown",
      "here ClientUnknown",
    ]);
    assert.notEqual((await asked({ here: { ingress: [{}] }, there: { ingress: [{}] } })).heard, "");
    assert.notEqual((await asked({})).heard, "", "without a policy nobody is asked");
  });

  test("are the same for datagrams, whose server sees the client, too", async () => {
    const seen = `${place}.195 hello`;
    const byDatagram = (port: number) => answerTo(port, "hello");
    const inVain = (port: number) => answerTo(port, "hello", 5);
    const only = from({ app: "client" });
    assert.equal((await asked({ pod: "client", here: only, there: only }, byDatagram)).heard, seen);
    const kept = await asked({ pod: "client", there: from({ app: "nobody" }) }, inVain);
    // It is not asked for again with each datagram.
    assert.deepEqual(kept, { heard: "", counted: ["peer Policy", "here Policy"] });
    assert.deepEqual((await asked({ here: only }, inVain)).counted, ["here ClientUnknown"]);
    assert.deepEqual((await asked({ pod: "x", namespace: "private" }, inVain)).counted, ["here OtherNamespace"]);
    assert.equal((await asked({}, byDatagram)).heard, "127.0.0.1 hello");
  });

  test("or none: a pod of another namespace is not led there", async () => {
    assert.deepEqual(await asked({ pod: "stranger", namespace: "private" }), {
      heard: "",
      counted: ["here OtherNamespace"],
    });
  });

  test("end what they no longer allow", async () => {
    const port = await serve((socket) => void socket.write("hello"));
    const { there, end } = await pair(port);
    const socket = await dial(port);
    await once(socket, "data");
    const cut = reset(socket);
    there.put("networkpolicies", policy("shop-twin", from({ app: "client" })));
    await cut;
    end();
  });
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
    const upgrade = (path: string, protocol: string) =>
      remote.connect(path, protocol, AbortSignal.timeout(30_000)).then(
        () => assert.fail(`${path} was let through`),
        (error: unknown) => {
          assert.ok(error instanceof PeerRefused, `${path}: ${error}`);
          return error.refusal.code;
        },
      );
    for (const path of [`${CONNECT_PATH}/127.0.0.1/80`, `${CONNECT_PATH}/../x`, `${CONNECT_PATH}?x`])
      assert.equal(await upgrade(path, CONNECT_UPGRADE), "NoConnection", path);
    assert.equal(await upgrade(CONNECT_PATH, "websocket"), "NoConnection");
    // All over one stream: a no leaves it as it was.
    const stream = await remote.connect(CONNECT_PATH, CONNECT_UPGRADE, AbortSignal.timeout(30_000));
    const ask = async (open: Open) => {
      writeMessage(stream, openText(open));
      return JSON.parse((await readMessage(stream, 30_000)) ?? assert.fail("no answer")).refusal?.code;
    };
    for (const [address, at] of [
      [SERVER, 22],
      [`${place}.8`, port],
      ["127.0.0.1", port],
      ["127.0.0.1", 6443],
      ["10.0.0.1", 443],
      ["169.254.169.254", 80],
      [STAND_IN, port],
    ] as const)
      assert.equal(await ask({ protocol: "TCP", address, port: at }), "NotShared", `${address}:${at}`);
    // Nor as somebody of another namespace than the server's.
    const client = { address: CLIENT, namespace: "private", name: "x", labels: {} };
    const wanted = { protocol: "TCP", address: SERVER, port } as const;
    assert.equal(await ask({ ...wanted, client }), "OtherNamespace");
    writeMessage(stream, "{}");
    assert.equal(await readMessage(stream, 30_000), undefined, "who speaks nonsense is not spoken with");
    assert.deepEqual(
      ["NotShared", "NoConnection", "OtherNamespace"].map(
        (reason) => counted.filter((each) => each === `peer ${reason}`).length,
      ),
      [7, 5, 1],
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

describe("datagrams", () => {
  test("of many clients find back to each, and one who sends more than goes away takes nobody else's place", async (t) => {
    const port = await serve(() => {});
    await echo(port);
    const { metrics, end } = await pair(port);
    const answers = await Promise.all(Array.from({ length: 20 }, (_, index) => answerTo(port, `client ${index}`)));
    assert.deepEqual(
      answers,
      Array.from({ length: 20 }, (_, index) => `127.0.0.1 client ${index}`),
    );
    // More clients than there are places: each new one takes that of the one that has been silent longest.
    const sockets = Array.from({ length: MOST_CONNECTIONS / 2 + 50 }, () => createSocket("udp4"));
    t.after(() => {
      for (const socket of sockets) socket.close();
    });
    for (const socket of sockets) {
      socket.send("flood", port, STAND_IN);
      await new Promise((resolve) => setImmediate(resolve));
    }
    assert.equal(await answerTo(port, "late"), "127.0.0.1 late");
    assert.ok(metrics.open <= MOST_CONNECTIONS / 2 + 1, `${metrics.open} are open`);
    const flood = createSocket("udp4");
    sockets.push(flood);
    const piece = Buffer.alloc(60_000);
    for (let sent = 0; sent < 500; sent++) {
      flood.send(piece, port, STAND_IN);
      if (sent % 50 === 0) await new Promise((resolve) => setImmediate(resolve));
    }
    assert.equal(await answerTo(port, "still"), "127.0.0.1 still");
    end();
  });

  test("of a hostile peer that opens many flows, or speaks nonsense, are refused, and leave nothing open", async () => {
    const port = await serve(() => {});
    await echo(port);
    const { remote, counted, metrics, end } = await pair(port);
    assert.ok(remote);
    const lane = async () => {
      const stream = await remote.connect(CONNECT_PATH, CONNECT_UPGRADE, AbortSignal.timeout(30_000));
      writeMessage(
        stream.on("error", () => {}),
        openText("datagrams"),
      );
      assert.equal(await readMessage(stream, 30_000), "{}");
      return stream.resume();
    };
    const stream = await lane();
    const open = (address: string, at: number) => Buffer.from(openText({ protocol: "UDP", address, port: at }));
    const reader = new FlowFrameReader();
    const heard = new Map<number, number>();
    stream.on("data", (chunk: Buffer) => {
      for (const { kind, flow } of reader.read(chunk)) heard.set(flow, kind);
    });
    const elsewhere = [open("127.0.0.1", 53), open("169.254.169.254", 53), open(SERVER, 22), open(`${place}.8`, port)];
    for (const [flow, body] of elsewhere.entries()) stream.write(flowFrame(FLOW.open, flow + 1, body));
    await until(() => heard.size === elsewhere.length);
    assert.ok([...heard.values()].every((kind) => kind === FLOW.refused));
    for (let flow = 100; flow < 400; flow++) {
      stream.write(flowFrame(FLOW.open, flow, open(SERVER, port)));
      if (flow % 20 === 0) await until(() => heard.has(flow));
    }
    await until(() => heard.size === elsewhere.length + 300);
    const opened = [...heard.values()].filter((kind) => kind === FLOW.opened).length;
    assert.equal(opened, MOST_CONNECTIONS / 2);
    assert.ok(counted.includes("peer TooManyConnections"));
    stream.write(flowFrame(FLOW.datagram, 77, Buffer.from("of no flow")));
    const gone = once(stream, "close");
    stream.write(flowFrame(FLOW.open, 100, open(SERVER, port)));
    await gone;
    await until(() => metrics.peerOpen === 0);
    for (const nonsense of [Buffer.alloc(64, 0xff), Buffer.alloc(64), flowFrame(FLOW.opened, 1)]) {
      const other = await lane();
      const closed = once(other, "close");
      other.write(nonsense);
      await closed;
    }
    end();
  });
});

describe("streams", () => {
  const connectTo = (remote: RemoteSite | undefined) =>
    (remote ?? assert.fail()).connect(CONNECT_PATH, CONNECT_UPGRADE, AbortSignal.timeout(60_000));

  test("of a peer that wait are few", async () => {
    const { remote, end } = await pair(await serve(() => {}));
    const streams = await Promise.allSettled(Array.from({ length: 36 }, () => connectTo(remote)));
    const open = streams.flatMap((each) => (each.status === "fulfilled" ? [each.value] : []));
    assert.equal(open.length, 32);
    for (const stream of open) stream.destroy();
    end();
  });

  test("of a peer that says nothing are closed, and so are those of one that says half of it", async () => {
    const { remote, end } = await pair(await serve(() => {}), { waitMs: 300 });
    for (const said of [Buffer.alloc(0), Buffer.from([0, 0, 0, 9, 123])]) {
      const stream = (await connectTo(remote)).on("error", () => {}).resume();
      stream.write(said);
      await until(() => stream.closed);
    }
    end();
  });

  test("are used again: many connections one after the other cost few handshakes", async (t) => {
    const port = await serve((socket) => void socket.once("data", () => socket.end("x")));
    const measured = async (streams?: { kept: number; ahead: number }) => {
      const { end } = await pair(port, streams && { streams });
      const times: number[] = [];
      let before = 0;
      for (let count = 0; count < 40; count++) {
        if (count === 1) before = handshakes;
        const began = performance.now();
        const socket = await dial(port);
        socket.end("hello");
        // A machine that is busy beyond measure may not lead it there in time.
        if ((await text(socket).catch(() => "")) === "x") times.push(performance.now() - began);
      }
      const shaken = handshakes - before;
      end();
      // Until nobody listens any more.
      for (let isThere = true; isThere; ) {
        const socket = createConnection({ host: STAND_IN, port }).on("error", () => {});
        isThere = await once(socket, "connect").then(
          () => true,
          () => false,
        );
        socket.destroy();
      }
      const sorted = times.slice(1).sort((a, b) => a - b);
      const [median = 0, most = 0] = [0.5, 0.95].map((part) => sorted[Math.floor(sorted.length * part)]);
      t.diagnostic(
        `${streams ? "without" : "with"} streams that wait: median ${median.toFixed(1)} ms, 95th of a hundred ${most.toFixed(1)} ms, ${shaken} handshakes for ${sorted.length}`,
      );
      return { median, shaken };
    };
    const without = await measured({ kept: 0, ahead: 0 });
    const used = await measured();
    assert.ok(without.shaken >= 35, `${without.shaken} handshakes`);
    assert.ok(used.shaken <= 10, `${used.shaken} handshakes`);
  });

  test("leave the last one that waits to others than who has had the one before", async () => {
    const port = await serve(() => {});
    const { remote, end } = await pair(port);
    assert.ok(remote);
    const sites = { get: () => remote };
    const carriers = new Carriers({ sites, clock: systemClock, ahead: 0 });
    const open = { protocol: "TCP", address: SERVER, port } as const;
    const signal = AbortSignal.timeout(60_000);
    const ask = (namespace: string) => carriers.ask(provider.id, namespace, open, signal);
    // Refused: it leaves the stream as it was.
    const refused = () => carriers.ask(provider.id, "first", { ...open, port: 1 }, signal).catch(() => {});
    await Promise.all([refused(), refused()]);
    assert.equal(carriers.idle(provider.id), 2);
    const taken = [await ask("greedy"), await ask("greedy"), await ask("greedy")];
    assert.equal(carriers.idle(provider.id), 1);
    taken.push(await ask("modest"));
    assert.equal(carriers.idle(provider.id), 0);
    for (const { stream } of taken) stream.destroy();
    carriers.end();
    end();
  });
});

async function until(isSo: () => boolean): Promise<void> {
  while (!isSo()) await new Promise((resolve) => setTimeout(resolve, 5));
}
