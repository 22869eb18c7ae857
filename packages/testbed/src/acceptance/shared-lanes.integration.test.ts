import assert from "node:assert/strict";
import { isIP } from "node:net";
import { after, before, describe, it } from "node:test";
import { AddressPlan, Export, Link, newObject, Site } from "@fjord/api";
import { customResourceDefinitions } from "@fjord/api/manifests";
import { silentLogger, systemClock } from "@fjord/base";
import {
  Gateway,
  GatewayLoop,
  LinkProbe,
  type NetworkState,
  NodeNetwork,
  PROBE_PORT,
  type SeenReport,
} from "@fjord/continuum/gateway";
import { CustomResourceDefinition, type KubeClient, Lease, Namespace, Node, Secret } from "@fjord/kube";
import { type Microkube, startMicrokube } from "@fjord/microkube";
import {
  EchoPod,
  type NamespaceSite,
  NetworkNamespaces,
  namespaceSites,
  namespaceUdp,
  POD_RANGES,
  wireguardKeys,
} from "../namespaces/index.ts";
import { addNode } from "../namespaces/site-network.ts";
import { networkSkip, wireguardProgram } from "../testing.ts";
import { eventually } from "./acceptance-bed.ts";
import { answered, interfacePrefixOf, runGateway } from "./namespace-gateway.ts";

const LANES = [0, 1];
const PORT = 51_820;
/** What both call the other's pods. */
const NAMES = ["240.0.0.0/16", "fd66:6a6f::/64"] as const;
const [OWN, PEER] = ["a".repeat(26), "b".repeat(26)];
/** Nodes that may carry the links of site a, and one that follows; their addresses on the wire. */
const NODES = { "a-gw": "192.0.2.1", "a-second": "192.0.2.11", "a-third": "192.0.2.12" } as const;
type NodeName = keyof typeof NODES;
/** What stands for an export to the peer, and what that calls it. */
const EXPORTED = { range: "252.0.0.0/20", called: "240.77.0.0/20", address: "252.0.0.7", calledAddress: "240.77.0.7" };
/** A pod on the node that only follows. */
const FOLLOWING = { ipv4: "10.42.200.9", ipv6: "fd42::200:9" };

describe("Two nodes of a site that share the lanes of its links", { skip: networkSkip() }, () => {
  const namespaces = new NetworkNamespaces();
  const stop = new AbortController();
  const switches = new Map<NodeName, AbortController>();
  const running: Promise<unknown>[] = [];
  const pods: Record<string, EchoPod> = {};
  const reports: Record<string, readonly SeenReport[]> = {};
  const keys = { a: wireguardKeys(), b: wireguardKeys() };
  let api: Microkube;
  let client: KubeClient;
  let sites: NamespaceSite[];
  /** That both have. */
  let laneCount = LANES.length;

  const peerPod = (family: 4 | 6 = 4) => {
    const found = sites.find(({ name }) => name === "b")?.pods.get("b1");
    return ((family === 4 ? found?.ipv4 : found?.ipv6) ?? "")
      .replace("10.42.", "240.0.")
      .replace("fd42::", "fd66:6a6f::");
  };

  before(async () => {
    sites = await namespaceSites(namespaces, { a: 1, b: 1 });
    await addSecondNode();
    await addFollower();
    api = await startMicrokube({ controllers: false, scheduler: false, logger: silentLogger });
    client = api.client();
    await fillApi();
    running.push(runPeer());
    for (const node of ["a-gw", "a-second"] as const) startNode(node);
    running.push(
      runGateway(
        client,
        { node: "a-third", place: { node: "a-third" }, tunnel: true, signal: stop.signal },
        namespaces,
      ),
    );
    for (const { pods: names } of sites)
      for (const name of names.keys()) pods[name] = await EchoPod.start(namespaces, name);
    pods.a9 = await EchoPod.start(namespaces, "a9");
    await eventually("each has a lane, and the peer hears both", isShared, 120_000);
  });
  after(async () => {
    for (const each of [stop, ...switches.values()]) each.abort();
    await Promise.allSettled(running);
    await client?.close();
    await api?.close();
    await namespaces[Symbol.asyncDispose]();
  });

  function startNode(node: NodeName): void {
    const off = new AbortController();
    switches.set(node, off);
    const place = { node, endpoints: [`${NODES[node]}:${PORT}`] };
    const run = runGateway(client, { node, place, mayCarry: true, tickMs: 1_000, signal: off.signal }, namespaces);
    run.catch(() => {});
    running.push(run);
  }

  /** As pods' networks have it: nodes reach all pods by each other. */
  async function addSecondNode(): Promise<void> {
    await addNode(namespaces, {
      name: "a-second",
      address: NODES["a-second"],
      podRange: POD_RANGES[0],
      via: NODES["a-gw"],
    });
    await namespaces.ip("a-gw", "-6", "address", "add", "2001:db8::1/64", "dev", "eth0", "nodad");
    await namespaces.ip("a-second", "-6", "address", "add", "2001:db8::11/64", "dev", "eth0", "nodad");
    await namespaces.ip("a-second", "-6", "route", "add", POD_RANGES[1], "via", "2001:db8::1");
    // Here nothing is taken that would be answered by another interface.
    await namespaces.run("a-second", "sh", "-c", "echo 1 > /proc/sys/net/ipv4/conf/default/rp_filter");
  }

  async function addFollower(): Promise<void> {
    await addNode(namespaces, {
      name: "a-third",
      address: NODES["a-third"],
      podRange: POD_RANGES[0],
      via: NODES["a-gw"],
    });
    await namespaces.ip("a-third", "-6", "address", "add", "2001:db8::12/64", "dev", "eth0", "nodad");
    await namespaces.add("a9");
    await namespaces.cable("a9", "eth0", "a-third", "a9");
    for (const [address, bits, gateway, via] of [
      [FOLLOWING.ipv4, 32, "10.42.200.1", NODES["a-third"]],
      [FOLLOWING.ipv6, 128, "fd42::200:1", "2001:db8::12"],
    ] as const) {
      await namespaces.ip("a-third", "address", "add", `${gateway}/${bits}`, "dev", "a9");
      await namespaces.ip("a-third", "route", "add", `${address}/${bits}`, "dev", "a9");
      await namespaces.ip("a9", "address", "add", `${address}/${bits}`, "dev", "eth0");
      await namespaces.ip("a9", "route", "add", gateway, "dev", "eth0");
      await namespaces.ip("a9", "route", "add", "default", "via", gateway);
      for (const node of ["a-gw", "a-second"]) await namespaces.ip(node, "route", "add", address, "via", via);
    }
  }

  async function fillApi(): Promise<void> {
    for (const each of customResourceDefinitions())
      await client.create(CustomResourceDefinition, each as CustomResourceDefinition);
    const naming = POD_RANGES.map((range, i) => ({ range, called: NAMES[i] ?? "" }));
    const metadata = { name: "fjord-system" };
    await client.create(Namespace, { apiVersion: "v1", kind: "Namespace", metadata });
    for (const [name, address] of Object.entries(NODES)) {
      await client.create(Node, { apiVersion: "v1", kind: "Node", metadata: { name } } as Node);
      const status = { addresses: [{ type: "InternalIP", address }] };
      await client.patch(Node, { name }, "merge", { status }, { subresource: "status" });
    }
    const privateKey = Buffer.from(keys.a.private).toString("base64");
    await client.create(Secret, {
      apiVersion: "v1",
      kind: "Secret",
      metadata: { name: "fjord-link", namespace: "fjord-system" },
      data: { privateKey },
    });
    const create = async <T extends { metadata: object }>(make: () => Promise<T>) =>
      await eventually("the API knows Fjord's kinds", make, 30_000);
    const network = { podRanges: [...POD_RANGES], endpoints: [], lanes: LANES.length };
    await create(() => client.create(Site, newObject(Site, { metadata: { name: "a" }, spec: { network } })));
    const status = { role: "Self", id: OWN };
    await client.patch(Site, { name: "a" }, "merge", { status }, { subresource: "status" });
    const exported = { range: EXPORTED.range, called: EXPORTED.called };
    const plan = { site: PEER, own: [...naming, exported], peer: naming };
    await create(() => client.create(AddressPlan, newObject(AddressPlan, { metadata: { name: PEER }, spec: plan })));
    const link = {
      site: PEER,
      publicKey: keys.b.public,
      endpoints: [`192.0.2.2:${PORT}`],
      lanes: [{ endpoints: [`192.0.2.2:${PORT + 1}`] }],
      groups: [
        { name: "shop", local: [...POD_RANGES], remote: [...NAMES] },
        { name: "fjord.dev/exports", local: [EXPORTED.address], remote: [...NAMES] },
      ],
    };
    await create(() => client.create(Link, newObject(Link, { metadata: { name: PEER }, spec: link })));
  }

  /** The peer: one node that has all of its lanes, and is dialled. */
  async function runPeer(): Promise<void> {
    const state = (): NetworkState => ({
      siteId: PEER,
      listenPort: PORT,
      mtu: 1380,
      ranges: POD_RANGES,
      parallel: laneCount,
      peers: [
        {
          siteId: OWN,
          own: POD_RANGES.map((range, i) => ({ range, called: NAMES[i] ?? "" })),
          peer: [
            ...POD_RANGES.map((range, i) => ({ range, called: NAMES[i] ?? "" })),
            { range: EXPORTED.range, called: EXPORTED.called },
          ],
          link: { publicKey: keys.a.public, endpoints: [], lanes: laneCount > 1 ? [[]] : [] },
          groups: [
            { name: "shop", local: [...POD_RANGES], remote: [...NAMES] },
            { name: "fjord.dev/imports/shop", local: [...POD_RANGES], remote: [EXPORTED.calledAddress] },
          ],
        },
      ],
    });
    const means = { clock: systemClock, logger: silentLogger };
    const network = new NodeNetwork({ prefix: namespaces.prefix("b-gw"), wireguardProgram: wireguardProgram() });
    const loop = new GatewayLoop({
      ...means,
      gateway: new Gateway({ ...means, network, interfacePrefix: interfacePrefixOf("b-gw") }),
      source: { read: async () => ({ carries: { state: state(), privateKey: keys.b.private } }) },
      probe: (lane) =>
        new LinkProbe({
          ...means,
          lane,
          open: (address, heard) => namespaceUdp(namespaces, "b-gw", { address, port: PROBE_PORT }, heard),
        }),
      told: async (seen) => {
        reports.b = seen;
      },
    });
    await loop.run(stop.signal);
  }

  /** The node that carries each lane, by its own word. */
  const carriers = async () => {
    const { lanes = [] } = (await client.get(Site, { name: "a" })).status?.gateway ?? {};
    return LANES.map((lane) => lanes.find((each) => each.lane === lane)?.node);
  };
  const isShared = async () => {
    const nodes = await carriers();
    const isHeard = reports.b?.[0]?.lanes?.every(({ silent }) => !silent) && reports.b[0].lanes.length === 2;
    const { lanes = [] } = (await client.get(Link, { name: PEER })).status ?? {};
    const isMet = (lane: number) => {
      const { node, silent, handshakeAt } = lanes.find((each) => each.lane === lane) ?? {};
      return node === nodes[lane] && silent !== true && handshakeAt !== undefined;
    };
    const isTold = LANES.every(isMet);
    return isHeard && isTold && new Set(nodes).size === 2 && !nodes.includes(undefined);
  };
  const carrierOf = async (lane: number) => (await carriers())[lane] as NodeName;
  const otherThan = (node: NodeName): NodeName => (node === "a-gw" ? "a-second" : "a-gw");

  /** Packets of pods that have left and come by a lane at a node since it was last asked, and those of connections that nobody there has seen begin. */
  const counted = async (node: NodeName, lane: number) => {
    const name = `${interfacePrefixOf(node)}${lane}`;
    const [link] = JSON.parse(await namespaces.ip(node, "-json", "-statistics", "link", "show", "dev", name)) as {
      stats64: { rx: { bytes: number }; tx: { bytes: number } };
    }[];
    return { out: link?.stats64.tx.bytes ?? 0, in: link?.stats64.rx.bytes ?? 0 };
  };

  /** Connections that all were opened. */
  const hold = async (pod: string, host: string, count: number) => {
    const late = new Promise<never>((_, reject) => {
      setTimeout(
        () => reject(new Error(`${pod} does not reach ${host} by each of ${count} connections`)),
        20_000,
      ).unref();
    });
    const held = await Promise.race([(pods[pod] as EchoPod).hold(host, count), late]);
    return { end: () => held.end() };
  };

  for (const [pod, where] of [
    ["a1", "on one of the two"],
    ["a9", "on a third that follows"],
  ] as const)
    for (const family of [4, 6] as const)
      it(`carry connections of IPv${family} of a pod ${where} at once, each by one node in both directions`, async () => {
        // Where a lane has seemed silent meanwhile, as on a machine that is busy, directions may differ for a moment.
        for (let turn = 1; (await carryBoth(pod, family)) > 0; turn++) {
          assert.ok(turn < 5, "nodes see one direction of a connection alone, and drop its first answer");
          await eventually("both are heard", isShared, 60_000);
        }
      });

  /** How many packets are dropped, as kube-proxy does, of connections of which a node sees one direction alone. */
  async function carryBoth(pod: string, family: 4 | 6): Promise<number> {
    const nodes = await Promise.all(LANES.map(carrierOf));
    const strict = "chain forward { type filter hook forward priority 0; ct state invalid counter drop; }";
    for (const node of nodes) await namespaces.run(node, "nft", `table inet strict { ${strict}\n}`);
    const before = await Promise.all(LANES.map((lane) => counted(nodes[lane] as NodeName, lane)));
    const held = await hold(pod, peerPod(family), 24);
    const gaps = await held.end();
    assert.ok(gaps.length === 24 && gaps.every((each) => typeof each === "number"), `not all were answered: ${gaps}`);
    const now = await Promise.all(LANES.map((lane) => counted(nodes[lane] as NodeName, lane)));
    for (const lane of LANES)
      for (const direction of ["out", "in"] as const) {
        const bytes = (now[lane]?.[direction] ?? 0) - (before[lane]?.[direction] ?? 0);
        assert.ok(bytes > 500, `lane ${lane} has carried ${bytes} bytes ${direction}`);
      }
    let dropped = 0;
    for (const node of nodes) {
      const text = await namespaces.run(node, "nft", "list table inet strict");
      dropped += Number(/counter packets (\d+)/.exec(text)?.[1]);
      await namespaces.run(node, "nft", "delete table inet strict");
    }
    return dropped;
  }

  it("let the peer's pods begin, too", async () => {
    for (const pod of [sites[0]?.pods.get("a1"), FOLLOWING])
      for (const address of [pod?.ipv4, pod?.ipv6]) {
        const called = (address ?? "").replace("10.42.", "240.0.").replace("fd42::", "fd66:6a6f::");
        const held = await hold("b1", called, 8);
        assert.ok(((await held.end()) ?? [""]).every((each) => typeof each === "number"));
      }
  });

  it("lead the peer's pods to what is exported, and its answers back by the node that led them", async () => {
    const host = { address: FOLLOWING.ipv4, ports: [{ port: 7000 }] };
    const spec = { sites: ["b"], host };
    await client.create(Export, newObject(Export, { metadata: { name: "pod" }, spec }));
    const backends = [{ address: FOLLOWING.ipv4, port: 9000 }];
    const entries = [
      {
        name: "pod",
        addresses: [EXPORTED.address],
        masquerade: false,
        ports: [{ protocol: "TCP", port: 7000, backends }],
      },
    ];
    await client.patch(Export, { name: "pod" }, "merge", { status: { entries } }, { subresource: "status" });
    // Behind another port than the peer knows of.
    const lead = "chain lead { type nat hook prerouting priority dstnat; tcp dport 9000 redirect to :7000; }";
    await namespaces.run("a9", "nft", `table inet behind { ${lead}\n}`);
    const held = await hold("b1", EXPORTED.calledAddress, 24);
    const gaps = await held.end();
    assert.ok(gaps.length === 24 && gaps.every((each) => typeof each === "number"), String(gaps));
  });

  it("tell peers where each lane is reached, and each other", async () => {
    const { gateway } = (await client.get(Site, { name: "a" })).status ?? {};
    assert.equal(gateway?.node, gateway?.lanes?.[0]?.node);
    for (const { lane, node, addresses, endpoints } of gateway?.lanes ?? []) {
      const address = NODES[node as NodeName];
      assert.deepEqual([addresses, endpoints], [[address], [`${address}:${PORT + lane}`]]);
    }
    const lease = await client.get(Lease, { name: "fjord-gateway", namespace: "fjord-system" });
    assert.ok(lease.spec?.holderIdentity?.startsWith(`${gateway?.node}_`));
  });

  it("have the lane of one that is switched off within three seconds, and no connection breaks", async (t) => {
    const lost = await carrierOf(1);
    const left = otherThan(lost);
    const helds = await Promise.all(["a1", "a9"].map((pod) => hold(pod, peerPod(), 12)));
    using passed = new Stopwatch();
    switches.get(lost)?.abort();
    // With all that it has: nothing of it sends or answers any more.
    await namespaces.ip("wan", "link", "set", "dev", lost === "a-gw" ? "a" : lost, "down");
    await eventually("the other one has both", async () => (await carriers()).every((node) => node === left), 30_000);
    const took = passed.ms;
    await eventually(
      "and the peer hears it there",
      async () => reports.b?.[0]?.lanes?.every(({ silent }) => !silent),
      30_000,
    );
    const ends = await Promise.all(helds.map(async (held, i) => [["a1", "a9"][i], await held.end()] as const));
    t.diagnostic(`the other one had both after ${took} ms`);
    assert.ok(took < 3_000, `it took ${took} ms`);
    for (const [pod, gaps = []] of ends) {
      t.diagnostic(`${pod} heard nothing for at most ${gaps} ms`);
      // Of the pod on the node that was switched off nothing can be heard.
      if (pod === "a1" && lost === "a-gw") continue;
      assert.ok(
        gaps.every((gap) => typeof gap === "number" && gap < 15_000),
        String(gaps),
      );
    }
  });

  /** From the node whose program has ended, and from another one. */
  const reachPeer = async (when: string) => {
    for (const pod of ["a1", "a9"])
      for (const family of [4, 6] as const) {
        const seen = await pods[pod]?.ask(peerPod(family), { proto: "udp", patienceMs: 3_000 });
        assert.equal(isIP(seen ?? ""), family, `${pod} over IPv${family}, ${when}: ${seen}`);
      }
  };

  /** A program ends, as by a kill: its node, its WireGuard and its pods go on. */
  const kill = async (node: NodeName) => {
    using passed = new Stopwatch();
    switches.get(node)?.abort();
    const asked = { answered: 0, longest: 0, at: 0 };
    const stream = pods.a1 as EchoPod;
    const ask = async () => {
      const answer = await stream.ask(peerPod(), { proto: "udp", patienceMs: 400 });
      const at = passed.ms;
      if (answer === "nothing") return;
      asked.longest = Math.max(asked.longest, at - asked.at);
      [asked.at, asked.answered] = [at, asked.answered + 1];
    };
    while (passed.ms < 8_000) await ask();
    const longest = Math.max(asked.longest, passed.ms - asked.at);
    await reachPeer("while its program is no more");
    // WireGuard's process ends with the program where both are of one pod.
    const links = JSON.parse(await namespaces.ip(node, "-json", "link", "show")) as { ifname: string }[];
    const ofLanes = LANES.map((lane) => `${interfacePrefixOf(node)}${lane}`);
    for (const { ifname } of links.filter((each) => ofLanes.includes(each.ifname)))
      await namespaces.ip(node, "link", "delete", "dev", ifname);
    await reachPeer("and WireGuard is no more either");
    return { answered: asked.answered, longest };
  };

  it("give a lane back to one that is there again, and no connection breaks", async (t) => {
    const back = otherThan(await carrierOf(0));
    const held = await hold("a9", peerPod(), 12);
    await namespaces.ip("wan", "link", "set", "dev", back === "a-gw" ? "a" : back, "up");
    startNode(back);
    await eventually("each has one again", isShared, 60_000);
    const gaps = (await held.end()) ?? [];
    t.diagnostic(`heard nothing for at most ${gaps} ms`);
    assert.ok(
      gaps.every((gap) => typeof gap === "number" && gap < 5_000),
      String(gaps),
    );
  });

  it("have packets of a node's pods led to the other one while its program is no more", async (t) => {
    const seen = await kill("a-gw");
    t.diagnostic(`answered ${seen.answered} times, and not for ${seen.longest} ms at most`);
    assert.ok(seen.longest < 3_000, `nothing was answered for ${seen.longest} ms`);
    startNode("a-gw");
    await eventually("each has one again", isShared, 60_000);
  });

  it("do so where links have but one lane, and the other one stands by", async (t) => {
    laneCount = 1;
    await client.patch(Site, { name: "a" }, "merge", { spec: { network: { lanes: 1 } } });
    // The one that carries it is the one with the pod.
    if ((await carrierOfAll()) !== "a-gw") {
      switches.get("a-second")?.abort();
      await eventually("it is there", async () => (await carrierOfAll()) === "a-gw", 30_000);
      startNode("a-second");
    }
    await eventually("the other one stands by", isStandingBy, 30_000);
    await answered(pods.a1 as EchoPod, peerPod());
    const seen = await kill("a-gw");
    t.diagnostic(`answered ${seen.answered} times, and not for ${seen.longest} ms at most`);
    assert.ok(seen.longest < 3_000, `nothing was answered for ${seen.longest} ms`);
    assert.equal(await carrierOfAll(), "a-second");
  });

  const carrierOfAll = async () => (await client.get(Site, { name: "a" })).status?.gateway?.node;
  /** Whether the second one has said several times that it lives, since it was started last, and the first one knows the way to it. */
  const isStandingBy = async () => {
    const { metadata } = await client.get(Lease, { name: "fjord-gateway", namespace: "fjord-system" });
    const said = JSON.parse(metadata.annotations?.["fjord.dev/lanes"] ?? "{}") as { beats?: Record<string, number> };
    const others = Object.entries(said.beats ?? {}).filter(([run]) => run.startsWith("a-second_"));
    const routes = await namespaces.ip("a-gw", "route", "show", "table", "7419").catch(() => "");
    return others.length === 1 && (others[0]?.[1] ?? 0) > 4 && routes.includes(`via ${NODES["a-second"]}`);
  };
});

/** Milliseconds that pass, but for those in which this process, and with it all nodes, was not given a processor. */
class Stopwatch implements Disposable {
  #at = performance.now();
  #sum = 0;
  readonly #timer = setInterval(() => this.ms, 20);

  get ms(): number {
    const now = performance.now();
    this.#sum += Math.min(now - this.#at, 60);
    this.#at = now;
    return Math.round(this.#sum);
  }

  [Symbol.dispose](): void {
    clearInterval(this.#timer);
  }
}
