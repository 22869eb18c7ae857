import assert from "node:assert/strict";
import { readdir, readFile } from "node:fs/promises";
import { after, before, describe, it } from "node:test";
import { silentLogger, systemClock } from "@fjord/base";
import { HOSTILE_DSCP, HostilePeer, packetOf, shapesOf, udp } from "@fjord/testbed/hostile";
import { POD_RANGES, wireguardKeys } from "@fjord/testbed/namespaces";
import { networkSkip } from "@fjord/testbed/testing";
import {
  CLOSED_SECONDS,
  FLOWS_TABLE,
  type FlowBound,
  flowBound,
  flowMark,
  flowSets,
  flowTable,
  REMOVED_FLOWS,
} from "../fabric/flow-bound.ts";
import { TUNNEL_PORT } from "../fabric/way.ts";
import { linkAddress, PROBE_PORT, relayAddress } from "../link-address.ts";
import type { NetworkState, PeerNetwork } from "../network-state.ts";
import type { Gateway } from "./gateway.ts";
import { LinkProbe } from "./link-probe.ts";
import { NodeWay } from "./node-way.ts";
import { namings, networkOf } from "./test-gateways.ts";
import { TestSites } from "./test-sites.ts";
import { WireguardSocket } from "./wireguard-socket.ts";

const skip = networkSkip();
/** All of it takes a minute; else each source is tried with some destinations, and each shape with some of both. */
const isWhole = process.env.FJORD_TEST_FAULTS === "1";
const SEED = Number(process.env.FJORD_SEED ?? 1);

/** What a calls each peer's pods, and what these call a's. */
const CALLED: Readonly<Record<string, { here: readonly string[]; there: readonly string[] }>> = {
  b: { here: ["240.0.0.0/16", "fd66:6a6f::/64"], there: ["240.0.0.0/16", "fd66:6a6f::/64"] },
  c: { here: ["240.1.0.0/16", "fd66:6a6f:0:1::/64"], there: ["240.9.0.0/16", "fd66:6a6f:0:9::/64"] },
};
/** The only pair that c and a share: c1, as a calls it, and a2, as c calls it. */
const SHARED = { 4: ["240.1.0.31", "240.9.0.12"], 6: ["fd66:6a6f:0:1::1f", "fd66:6a6f:0:9::c"] } as const;
/** Another one that means harm: what a calls its pod, and what that calls a2. It has the wire of c. */
const OTHER = { siteId: "e", address: "192.0.2.60", pod: "240.2.0.31", called: "240.10.0.12" } as const;
/** Another node of a's, which leads its pods to a's gateway. */
const FOLLOWER = "192.0.2.50";
const EXPORTED = "252.0.0.7";
/** Somebody behind c, as which it is known there. */
const BEHIND = "d";

const SOURCES: readonly string[] = [
  SHARED[4][0],
  "240.1.0.99",
  "240.1.0.0",
  "240.1.255.255",
  "240.0.0.21",
  "240.0.0.1",
  "10.42.0.11",
  "10.42.0.12",
  "10.42.0.1",
  "192.0.2.1",
  "192.0.2.2",
  "192.0.2.3",
  FOLLOWER,
  "127.0.0.1",
  "169.254.169.254",
  "0.0.0.0",
  "224.0.0.1",
  "255.255.255.255",
  EXPORTED,
  "198.51.100.7",
  relayAddress("a"),
  relayAddress("b"),
  relayAddress("c"),
  relayAddress(BEHIND),
  SHARED[6][0],
  "fd66:6a6f:0:1::99",
  "fd66:6a6f::15",
  "fd42::b",
  "fe80::1",
  "::1",
  "::",
  "ff02::1",
  "2001:db8::7",
  linkAddress("a"),
  linkAddress("b"),
  linkAddress("c"),
];

const DESTINATIONS: readonly string[] = [
  SHARED[4][1],
  "240.9.0.11",
  "240.9.0.1",
  "240.9.255.255",
  "240.0.0.21",
  "240.0.0.11",
  "240.1.0.31",
  "10.42.0.11",
  "10.42.0.12",
  "10.42.0.1",
  "10.42.255.255",
  "10.96.0.1",
  "192.0.2.1",
  "192.0.2.2",
  "198.18.0.2",
  "127.0.0.1",
  "169.254.169.254",
  "224.0.0.1",
  "255.255.255.255",
  EXPORTED,
  "240.9.16.7",
  relayAddress("a"),
  relayAddress("b"),
  relayAddress(BEHIND),
  SHARED[6][1],
  "fd66:6a6f:0:9::b",
  "fd66:6a6f::15",
  "fd42::b",
  "fd42::c",
  "fd42::1",
  "fe80::1",
  "::1",
  "ff02::1",
  "ff02::2",
  linkAddress("a"),
  linkAddress("b"),
];
const PORTS = [7000, 53, 6443, 10250, 51_820, PROBE_PORT, TUNNEL_PORT, 7443];

describe("A peer with a good key that sends whatever it likes", { skip, timeout: 400_000 }, () => {
  const sites = new TestSites("q", { a: 2, b: 1, c: 1 });
  const { namespaces, pods } = sites;
  const keys = { ...sites.keys, d: wireguardKeys(), e: wireguardKeys() };
  let peer: HostilePeer;
  let other: HostilePeer;
  let spoofer: HostilePeer;
  let gateway: Gateway;
  const witnesses = ["a-gw", "a1", "a2", "b-gw", "b1", "host"];
  let controls = 0;

  before(async () => {
    await sites.make();
    await namespaces.add("host");
    await namespaces.cable("host", "eth0", "a-gw", "lan");
    await namespaces.ip("host", "address", "add", "198.18.0.2/24", "dev", "eth0");
    await namespaces.ip("host", "route", "add", "default", "via", "198.18.0.1");
    await namespaces.ip("a-gw", "address", "add", "198.18.0.1/24", "dev", "lan");
    // A Service, which leads to the host by the node's own rules.
    const service =
      "chain serve { type nat hook prerouting priority dstnat; ip daddr 10.96.0.1 dnat to 198.18.0.2; }\n";
    await namespaces.run("a-gw", "nft", `table ip services { ${service} }`);
    for (const pod of ["a1", "a2", "b1", "host"]) await sites.startPod(pod);
    gateway = sites.gateway("a");
    await gateway.apply(stateOf("a"), keys.a.private);
    await sites.gateway("b").apply(stateOf("b"), keys.b.private);
    const way = new NodeWay({
      network: networkOf(namespaces, "a"),
      interfacePrefix: sites.prefixOf("a"),
      logger: silentLogger,
    });
    const ranges = [...(CALLED.b?.here ?? []), ...(CALLED.c?.here ?? [])];
    await way.apply({ own: POD_RANGES, ranges, gateway: [], nodes: [FOLLOWER], mtu: 1380 });
    for (const name of witnesses) await watch(name);
    await namespaces.ip("c-gw", "address", "add", `${FOLLOWER}/24`, "dev", "eth0");
    const options = { privateKey: keys.c.private, victimKey: keys.a.public, victim: sites.site("a").address };
    peer = await HostilePeer.start(namespaces, "c-gw", { ...options, address: "192.0.2.3" });
    spoofer = await HostilePeer.start(namespaces, "c-gw", { ...options, address: FOLLOWER });
    await peer.open();
    await namespaces.ip("c-gw", "address", "add", `${OTHER.address}/24`, "dev", "eth0");
    other = await HostilePeer.start(namespaces, "c-gw", {
      ...options,
      privateKey: keys.e.private,
      address: OTHER.address,
    });
    await other.open();
  });

  after(async () => {
    peer?.[Symbol.dispose]();
    spoofer?.[Symbol.dispose]();
    other?.[Symbol.dispose]();
    await sites[Symbol.asyncDispose]();
  });

  const stateOf = (site: "a" | "b"): NetworkState => {
    const base = { siteId: site, listenPort: 51_820, mtu: 1380, ranges: POD_RANGES };
    const linked = (other: "a" | "b" | "c"): PeerNetwork["link"] => ({
      publicKey: keys[other].public,
      endpoints: [`${sites.site(other).address}:51820`],
    });
    if (site === "b") {
      const { here, there } = CALLED.b ?? { here: [], there: [] };
      const groups = [{ name: "shop", local: ["10.42.0.21", "fd42::15"], remote: ["240.0.0.11", "fd66:6a6f::b"] }];
      return { ...base, peers: [{ siteId: "a", own: namings(here), peer: namings(there), link: linked("a"), groups }] };
    }
    const exported = { range: "252.0.0.0/20", called: "240.9.16.0/20" };
    return {
      ...base,
      // Led to a host, for b alone.
      exports: [
        {
          address: EXPORTED,
          masquerade: true,
          ports: [{ protocol: "UDP", port: 7000, backends: [{ address: "198.18.0.2", port: 7000 }] }],
        },
      ],
      peers: [
        {
          siteId: "b",
          own: [...namings(CALLED.b?.there), { ...exported, called: "240.77.0.0/20" }],
          peer: namings(CALLED.b?.here),
          link: linked("b"),
          groups: [
            { name: "shop", local: ["10.42.0.11", "fd42::b"], remote: ["240.0.0.21", "fd66:6a6f::15"] },
            { name: "exports", local: [EXPORTED], remote: ["240.0.0.0/16"] },
          ],
          relayTo: ["c"],
        },
        {
          siteId: "c",
          own: [...namings(CALLED.c?.there), exported],
          peer: namings(CALLED.c?.here),
          link: linked("c"),
          groups: [{ name: "shop", local: ["10.42.0.12", "fd42::c"], remote: [SHARED[4][0], SHARED[6][0]] }],
          relayTo: ["b"],
        },
        {
          siteId: BEHIND,
          own: [],
          peer: [],
          link: { publicKey: keys.d.public, endpoints: [`${relayAddress(BEHIND)}:51820`], via: "c" },
          groups: [],
        },
        {
          siteId: OTHER.siteId,
          own: [{ range: "10.42.0.0/16", called: "240.10.0.0/16" }],
          peer: [{ range: "10.42.0.0/16", called: "240.2.0.0/16" }],
          link: { publicKey: keys.e.public, endpoints: [`${OTHER.address}:51820`] },
          groups: [{ name: "shop", local: ["10.42.0.12"], remote: [OTHER.pod] }],
        },
      ],
    };
  };
  /** Counts what has the mark of the hostile peer: in a pod whatever comes, and at a gateway what has been let in. */
  const watch = async (name: string) => {
    const rules = `ip dscp ${HOSTILE_DSCP} counter\nip6 dscp ${HOSTILE_DSCP} counter\n`;
    const hooks = name.endsWith("-gw")
      ? ["input priority 300", "forward priority 300", "output priority -400"]
      : ["prerouting priority -450"];
    const chains = hooks.map((hook, i) => `chain c${i} { type filter hook ${hook};\n${rules}}\n`);
    await namespaces.run(name, "nft", `table inet witness {\n${chains.join("")}}\n`);
  };
  const seen = async (): Promise<Record<string, number>> => {
    const found: Record<string, number> = {};
    for (const name of witnesses) {
      const text = await namespaces.run(name, "nft", "list", "table", "inet", "witness");
      found[name] = [...text.matchAll(/packets (\d+)/g)].reduce((sum, [, count]) => sum + Number(count), 0);
    }
    return found;
  };
  /** Whether anything but what is shared may pass between these: a's owner lets b and c reach each other through a, by WireGuard alone. */
  const mayPass = (from: string, to: string, shape: string) =>
    // By what c calls it alone.
    (from === SHARED[4][0] && to === SHARED[4][1]) ||
    (from === SHARED[6][0] && to === SHARED[6][1]) ||
    (from === relayAddress("c") && to === relayAddress("b")) ||
    // From somebody behind it c carries what WireGuard of a takes, or not: it cannot read or forge that.
    (from === relayAddress(BEHIND) && to === relayAddress("a")) ||
    (from === linkAddress("c") && to === linkAddress("a") && shape.includes(`port ${PROBE_PORT}`));
  /** What has been sent before has been looked at when this has come through, which may. */
  const settle = async () => {
    const text = `control ${++controls}`;
    const [from, to] = SHARED[4];
    const heard = () => pods.a2?.heard.some(({ message }) => message === text) === true;
    for (const end = Date.now() + 30_000; !heard(); ) {
      assert.ok(Date.now() < end, "what may pass no longer does");
      // Without the mark.
      peer.send(packetOf({ from, to }, udp({ from, to }, 7000, text), { spoil: plain }));
      for (let i = 0; i < 10 && !heard(); i++) await new Promise((resolve) => setTimeout(resolve, 20));
    }
  };

  interface Case {
    readonly from: string;
    readonly to: string;
    readonly shape: string;
    readonly packets: readonly Buffer[];
  }
  const cases = (): Case[] => {
    const random = seeded(SEED);
    return SOURCES.flatMap((from) =>
      DESTINATIONS.filter((to) => to.includes(":") === from.includes(":")).flatMap((to) => {
        const port = PORTS[Math.floor(random() * PORTS.length)] as number;
        const all = [...shapesOf({ from, to }, port)].map(([shape, packets]) => ({
          from,
          to,
          shape: `${shape} to port ${port}`,
          packets,
        }));
        // Gateways talk to each other there, so that there are rules that let something in.
        const areGateways = from === linkAddress("c") && to === linkAddress("a");
        const some = isWhole || areGateways ? all : all.filter((_, i) => i === 0 || random() < 0.04);
        return some.filter((each) => !mayPass(from, to, each.shape));
      }),
    );
  };
  const received = async () =>
    (await new WireguardSocket(`${sites.prefixOf("a")}0`).get()).peers.get(
      Buffer.from(keys.c.public, "base64").toString("hex"),
    )?.receivedBytes ?? 0;
  const send = async (some: readonly Case[]) => {
    for (const [i, { packets }] of some.entries()) {
      for (const packet of packets) peer.send(packet);
      if (i % 32 === 31) await settle();
    }
    await settle();
  };

  it("gets nothing past that no group has, while honest peers go on, and nothing grows", async (t) => {
    assert.equal(await pods.b1?.ask("240.0.0.11", { proto: "udp" }), "240.0.0.21");
    const stream = await pods.b1?.stream("240.0.0.11", 20);
    const all = cases();
    await settle();
    const [before, memory, bytes] = [
      await seen(),
      await wireguardMemory(namespaces.fullName("a-gw")),
      await received(),
    ];
    let tried = 0;
    for (let i = 0; i < all.length; i += 512) {
      const some = all.slice(i, i + 512);
      await send(some);
      tried += some.reduce((sum, { packets }) => sum + packets.length, 0);
      const now = await seen();
      if (JSON.stringify(now) !== JSON.stringify(before)) await blame(some, now);
    }
    const grown = (await wireguardMemory(namespaces.fullName("a-gw"))) - memory;
    const sent = (await stream?.end()) ?? 0;
    const heard = () => pods.a1?.heard.filter(({ message }) => message.startsWith("packet ")).length ?? 0;
    for (const end = Date.now() + 5_000; heard() < sent && Date.now() < end; )
      await new Promise((resolve) => setTimeout(resolve, 20));
    t.diagnostic(
      `${all.length} cases, ${tried} packets: 0 passed; WireGuard grew by ${(grown / 2 ** 20).toFixed(1)} MiB; of ${sent} packets of an honest peer ${heard()} came`,
    );
    assert.ok((await received()) - bytes > tried * 32, "they did not come to WireGuard");
    assert.equal(heard(), sent);
    assert.ok(grown < 32 * 2 ** 20, `WireGuard grew by ${grown} bytes`);
    assert.deepEqual(await gateway.check(), []);
  });

  /** Which of them it was. */
  const blame = async (some: readonly Case[], last: Record<string, number>): Promise<never> => {
    const guilty: string[] = [];
    let before = JSON.stringify(last);
    for (const each of some) {
      await send([each]);
      const now = JSON.stringify(await seen());
      if (now !== before) guilty.push(`${each.shape} from ${each.from} to ${each.to}: ${now} after ${before}`);
      before = now;
    }
    assert.fail(guilty.length > 0 ? guilty.join("\n") : `something passed, and not again: ${before}`);
  };

  it("would be seen where a rule is missing, so that the test above would tell", async () => {
    const before = await seen();
    const chain = await namespaces.run("a-gw", "nft", "-a", "list", "chain", "inet", "fjord", "arrive4");
    const handle = /drop # handle (\d+)/.exec(chain)?.[1];
    await namespaces.run("a-gw", "nft", "delete", "rule", "inet", "fjord", "arrive4", "handle", handle ?? "");
    const [from] = SHARED[4];
    for (const to of ["10.42.0.11", "10.96.0.1", "192.0.2.1"]) {
      for (const packet of shapesOf({ from, to }, 7000).get("a datagram") ?? []) peer.send(packet);
    }
    await settle();
    const after = await seen();
    for (const name of ["a-gw", "a1", "host"]) assert.ok((after[name] ?? 0) > (before[name] ?? 0), name);
    assert.ok((await gateway.check()).length > 0);
  });

  it("gets nothing out of ports beside the link, whatever it sends there, nor into the tunnel of nodes", async (t) => {
    const before = await seen();
    const random = seeded(SEED);
    const bytes = (length: number) => Buffer.from(Array.from({ length }, () => Math.floor(random() * 256)));
    const inner = ["10.42.0.11", "10.42.0.1", "198.18.0.2", "192.0.2.1", "10.96.0.1"].map((to) =>
      packetOf({ from: "10.42.0.99", to }, udp({ from: "10.42.0.99", to }, 7000)),
    );
    // VXLAN with a packet of IPv4 in it, without Ethernet, as nodes send it.
    const tunnelled = inner.map((packet) =>
      Buffer.concat([Buffer.from("0c00000100", "hex"), Buffer.from([0x1d, 0x13, 0]), packet]),
    );
    let count = 0;
    for (const length of [0, 1, 3, 4, 31, 32, 60, 64, 92, 148, 149, 1_400, 65_000])
      for (const port of [51_820, PROBE_PORT, TUNNEL_PORT]) {
        for (let type = 0; type < 6; type++) {
          const message = bytes(length);
          if (length >= 4) message.writeUInt32LE(type, 0);
          peer.datagram(message, port);
          spoofer.datagram(message, port);
          count += 2;
        }
        await settle();
      }
    for (const message of tunnelled) {
      peer.datagram(message, TUNNEL_PORT);
      // As a node of the site, whose address anybody on its wire can take.
      spoofer.datagram(message, TUNNEL_PORT);
      count += 2;
    }
    // Opened again and again, with a good key and with none.
    for (let i = 0; i < 50; i++) spoofer.datagram(spoofer.session.initiation());
    await settle();
    await new Promise((resolve) => setTimeout(resolve, 300));
    assert.deepEqual(await seen(), before);
    t.diagnostic(`${count} datagrams: 0 packets of them passed`);
    assert.equal(await pods.b1?.ask("240.0.0.11", { proto: "udp" }), "240.0.0.21");
  });

  it("gets no more from probes than it sends, and none of them in memory", async () => {
    const heard: Buffer[] = [];
    let hear: (bytes: Buffer, from: string) => void = () => {};
    const probe = new LinkProbe({
      clock: systemClock,
      logger: silentLogger,
      open: async (_, listener) => {
        hear = listener;
        return { send: (bytes) => void heard.push(bytes), close: () => {} };
      },
    });
    await probe.tick("a", ["c"], 1380);
    heard.length = 0;
    const random = seeded(SEED);
    for (let i = 0; i < 5_000; i++) {
      const bytes = Buffer.from(Array.from({ length: Math.floor(random() * 40) }, () => Math.floor(random() * 256)));
      if (bytes.length >= 3 && random() < 0.5) bytes.set([0x66, 0x6a, 1 + Math.floor(random() * 2)]);
      const before = heard.length;
      hear(bytes, random() < 0.7 ? linkAddress("c") : linkAddress("nobody"));
      const answers = heard.slice(before);
      assert.ok(answers.length <= 1 && (answers[0]?.length ?? 0) <= bytes.length);
    }
    assert.deepEqual(probe.seen("c"), {});
    probe.close();
  });

  describe("that opens connections without end", () => {
    const [from, to] = SHARED[4];
    const tracked = async () =>
      Number(await namespaces.run("a-gw", "cat", "/proc/sys/net/netfilter/nf_conntrack_count"));
    /** Of those, what somebody has opened from such a port on: gateways have flows of their own. */
    const opened = async (firstPort: number, source: string = from) => {
      const lines = (await namespaces.run("a-gw", "cat", "/proc/net/nf_conntrack")).split("\n");
      const ports = lines.map((line) =>
        Number(line.match(`src=${source} .*?dport=20000 `) && line.match(/sport=(\d+)/)?.[1]),
      );
      return ports.filter((port) => port >= firstPort && port < firstPort + 2_000).length;
    };
    const open = async (count: number, firstPort: number) => {
      for (let i = 0; i < count; i++) {
        peer.send(packetOf({ from, to }, udp({ from, to }, 20_000 + (i >> 14), "open", firstPort + (i & 0x3fff))));
        if (i % 256 === 255) await settle();
      }
      await settle();
    };
    const bounded = async (bound: Omit<FlowBound, "remembersClosed">) => {
      await namespaces.run("a-gw", "nft", REMOVED_FLOWS);
      const table = flowTable([`${sites.prefixOf("a")}0`], { ...bound, remembersClosed: CLOSED_SECONDS.told });
      await namespaces.run("a-gw", "nft", table);
    };
    const many = { perMinute: 6_000_000, burst: 100_000 };

    it("takes what it likes of what the kernel remembers where nothing bounds it", async (t) => {
      await settle();
      await namespaces.run("a-gw", "nft", REMOVED_FLOWS);
      const before = await tracked();
      await open(4_000, 10_000);
      t.diagnostic(`4,000 packets: ${(await tracked()) - before} flows`);
      assert.ok((await tracked()) - before > 3_500);
    });

    it("has only so many open, while what it had open goes on, and others open more", async (t) => {
      await bounded({ bits: 3, held: 16, ...many });
      await open(2_000, 30_000);
      const more = await opened(30_000);
      t.diagnostic(`2,000 packets: ${more} flows of 128`);
      assert.ok(more > 0 && more <= 128, `${more} flows`);
      assert.match(
        await namespaces.run("a-gw", "nft", "list", "counter", ...FLOWS_TABLE.split(" "), "refused"),
        /packets [1-9]/,
      );
      for (let i = 0; i < 5; i++)
        assert.equal(await pods.b1?.ask("240.0.0.11", { proto: i % 2 === 0 ? "tcp" : "udp" }), "240.0.0.21");
    });

    it("takes nothing of what is another's, who means harm too, nor he of its: together they have what both may have", async (t) => {
      await bounded({ bits: 3, held: 16, ...many });
      await open(2_000, 34_000);
      const [source, target] = [OTHER.pod, OTHER.called];
      const way = { from: source, to: target };
      for (let i = 0; i < 2_000; i++) {
        other.send(packetOf(way, udp(way, 20_000, "open", 34_000 + i)));
        if (i % 256 === 255) await settle();
      }
      const theirs = async () => [await opened(34_000), await opened(34_000, source)] as const;
      // What it sends comes by another process than what was settled.
      for (const end = Date.now() + 30_000; (await theirs())[1] === 0; await settle()) assert.ok(Date.now() < end);
      const [one, two] = await theirs();
      t.diagnostic(`4,000 packets of two peers: ${one} and ${two} flows of 128 each`);
      assert.ok(one > 64 && one <= 128, `${one} flows`);
      assert.ok(two > 64 && two <= 128, `${two} flows`);
      for (const proto of ["tcp", "udp"] as const)
        assert.equal(await pods.b1?.ask("240.0.0.11", { proto }), "240.0.0.21");
      assert.equal(await pods.a1?.ask("198.18.0.2"), "198.18.0.1", "the node's own");
    });

    it("cannot know what stands for it, and choose an id for which the same stands: also where a guest of its reads all that pods of the node can", async () => {
      const boot = (await readFile("/proc/sys/kernel/random/boot_id", "utf8")).trim();
      const map = await namespaces.run("a-gw", "nft", "-j", "list", "map", "inet", "fjord", "from4-16");
      const { nftables } = JSON.parse(map) as { nftables: readonly { map?: { elem: readonly [string, number][] } }[] };
      const marks = new Map(nftables.flatMap((each) => each.map?.elem ?? []));
      assert.equal(marks.size, 3, map);
      for (const known of ["", boot]) assert.notEqual(marks.get("240.1.0.0"), flowMark("c", known));
    });

    it("has what it closed forgotten soon, which the kernel counts no longer", async () => {
      await gateway.check();
      assert.equal(await pods.b1?.ask("240.0.0.11", { proto: "tcp" }), "240.0.0.21");
      const closed = async () => {
        const lines = (await namespaces.run("a-gw", "cat", "/proc/net/nf_conntrack")).split("\n");
        return lines.flatMap((line) => / (\d+) (TIME_WAIT|CLOSE) src=240\.0\.0\.21 /.exec(line)?.[1] ?? []).map(Number);
      };
      let seconds: number[] = [];
      for (const end = Date.now() + 30_000; seconds.length === 0; seconds = await closed()) assert.ok(Date.now() < end);
      assert.ok(Math.max(...seconds) <= CLOSED_SECONDS.told, `${seconds} s`);
    });

    it("opens and closes only so many in a time", async (t) => {
      await bounded({ bits: 0, held: 100_000, perMinute: 60, burst: 200 });
      const [before, began] = [await tracked(), performance.now()];
      await open(2_000, 50_000 - 2_000);
      const [more, seconds] = [(await tracked()) - before, (performance.now() - began) / 1000];
      t.diagnostic(`2,000 packets in ${seconds.toFixed(1)} s: ${more} flows of ${200 + Math.ceil(seconds)}`);
      assert.ok(more <= 201 + seconds, `${more} flows`);
      assert.equal(await pods.b1?.ask("240.0.0.11", { proto: "tcp" }), "240.0.0.21");
    });

    it("is counted on when the links' firewall is made anew, and bounded again where others have changed that", async () => {
      assert.ok(
        (await gateway.check()).some((each) => each.includes("chain")),
        "the bounds of the test are not Fjord's",
      );
      await open(100, 60_000);
      const sets = flowSets(flowBound((await networkOf(namespaces, "a").rememberedFlows()) ?? 0, 4));
      const isCounted = async () =>
        /elements/.test(await namespaces.run("a-gw", "nft", "list", "set", ...FLOWS_TABLE.split(" "), sets.held));
      assert.ok(await isCounted());
      await namespaces.run("a-gw", "nft", "flush", "chain", ...FLOWS_TABLE.split(" "), "count");
      assert.deepEqual(await gateway.check(), ["chain count has other rules"]);
      assert.ok(await isCounted(), "what is held was forgotten");
      assert.deepEqual(await gateway.check(), []);
      assert.ok(gateway.denied.beyond >= 0);
    });
  });

  it("holds nobody up by saying again and again that it takes another key", async () => {
    await gateway.tend();
    const began = performance.now();
    for (let i = 0; i < 100; i++) void gateway.peerTurns("c", 0, i.toString(16).padStart(64, "0"));
    await gateway.tend();
    const ms = performance.now() - began;
    assert.ok(ms < 2_000, `the others waited for ${Math.round(ms)} ms`);
  });
});

/** Takes the mark away. */
function plain(packet: Buffer): void {
  const mark = packet.readUInt8(1);
  packet.writeUInt8(0, 1);
  let sum = packet.readUInt16BE(10) + mark;
  while (sum > 0xffff) sum = (sum & 0xffff) + (sum >>> 16);
  packet.writeUInt16BE(sum, 10);
}

function seeded(seed: number): () => number {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
}

/** Resident bytes of WireGuard's process in a network namespace. */
async function wireguardMemory(namespace: string): Promise<number> {
  const { execFileSync } = await import("node:child_process");
  const pids = execFileSync("ip", ["netns", "pids", namespace], { encoding: "utf8" }).split("\n");
  for (const pid of (await readdir("/proc")).filter((each) => pids.includes(each))) {
    const status = await readFile(`/proc/${pid}/status`, "utf8").catch(() => "");
    if (/^Name:\s*wireguard-go/m.test(status)) return 1024 * Number(/^VmRSS:\s*(\d+)/m.exec(status)?.[1]);
  }
  throw new Error("no WireGuard runs there");
}
