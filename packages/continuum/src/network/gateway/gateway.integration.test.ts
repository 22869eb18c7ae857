import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { silentLogger, systemClock } from "@fjord/base";
import { EchoPod, POD_RANGES } from "@fjord/testbed/namespaces";
import { networkSkip } from "@fjord/testbed/testing";
import type { Group, NetworkState, PeerNetwork } from "../network-state.ts";
import { Fence } from "./fence.ts";
import type { Gateway } from "./gateway.ts";
import { NodeNetwork } from "./node-network.ts";
import { eventually, TestSites } from "./test-sites.ts";
import { testChoice, testDevice } from "./test-wireguard.ts";

const skip = networkSkip();

/** What a exports, by the address that stands for it there, and what b calls that. */
const EXPORTED = { range: "252.0.0.0/20", called: "240.77.0.0/20", own: "252.0.0.7", there: "240.77.0.7" };
/** A host that only a's gateway reaches. */
const HOST = { address: "198.18.0.2", gateway: "198.18.0.1" };

/** What each site calls the pods of each other one. The first two have chosen the same, as sites may that never met. */
const NAMES: Readonly<Record<string, Readonly<Record<string, readonly [string, string]>>>> = {
  a: { b: ["240.0.0.0/16", "fd66:6a6f::/64"], c: ["240.1.0.0/16", "fd66:6a6f:0:1::/64"] },
  b: { a: ["240.0.0.0/16", "fd66:6a6f::/64"] },
  c: { a: ["240.9.0.0/16", "fd66:6a6f:0:9::/64"] },
};

/** Three sites with the same addresses: a and b share a group, c is a stranger to b, and shares with a what a group says. */
describe("A link between sites with the same addresses", { skip }, () => {
  const sites = new TestSites<string>("w", { a: 2, b: 2, c: 1 });
  const { namespaces, keys, pods } = sites;
  const gateways: Record<string, Gateway> = {};
  const prefixOf = (site: string) => sites.prefixOf(site);
  const empty: Record<string, unknown> = {};
  /** What a lets others reach of it. */
  let exports: NonNullable<NetworkState["exports"]> = [];
  /** In the place of c's gateway, once that is hostile. */
  let hostile: EchoPod;

  before(async () => {
    await sites.make();
    for (const site of sites.names) {
      gateways[site] = gatewayOf(site);
      empty[site] = await networkOf(site);
    }
    await sites.startPods();
    for (const site of sites.names) await apply(site);
  });
  after(() => sites[Symbol.asyncDispose]());

  const gatewayOf = (site: string) => sites.gateway(site, { wireguard: testChoice() });
  /** The address of a pod, as a site calls it: its own ones as they are. */
  const called = (by: string, pod: string, family: 4 | 6 = 4): string => {
    const site = pod.slice(0, 1);
    const { ipv4, ipv6 } = sites.pod(pod);
    const names = NAMES[by]?.[site];
    if (names === undefined) return family === 4 ? ipv4 : ipv6;
    return family === 4
      ? ipv4.replace("10.42.", names[0].split(".").slice(0, 2).join(".").concat("."))
      : ipv6.replace("fd42::", names[1].replace("/64", ""));
  };
  const both = (by: string, ...names: string[]) => names.flatMap((pod) => [called(by, pod, 4), called(by, pod, 6)]);
  const shared = (by: string, local: string[], remote: string[], name = "shop"): Group => ({
    name,
    local: both(by, ...local),
    remote: both(by, ...remote),
  });
  const groups: Record<string, Record<string, Group[]>> = {
    a: { b: [], c: [] },
    b: { a: [] },
    c: { a: [] },
  };
  const stateOf = (site: string): NetworkState => ({
    listenPort: 51_820,
    mtu: 1380,
    ranges: POD_RANGES,
    ...(site === "a" && { exports }),
    peers: Object.keys(NAMES[site] ?? {}).map(
      (other): PeerNetwork => ({
        siteId: other,
        own: [
          ...POD_RANGES.map((range, i) => ({ range, called: NAMES[other]?.[site]?.[i] ?? "" })),
          ...(site === "a" && exports.length > 0 ? [{ ...EXPORTED, called: exportsAs(other) }] : []),
        ],
        peer: [
          ...POD_RANGES.map((range, i) => ({ range, called: NAMES[site]?.[other]?.[i] ?? "" })),
          ...(other === "a" && exports.length > 0 ? [{ ...EXPORTED, called: exportsAs(site) }] : []),
        ],
        link: { publicKey: keys[other]?.public ?? "", endpoints: [`${sites.site(other).address}:51820`] },
        groups: groups[site]?.[other] ?? [],
      }),
    ),
  });
  /** What each calls the range of a's exports. */
  const exportsAs = (site: string) => (site === "b" ? EXPORTED.called : "240.78.0.0/20");
  const apply = async (site: string) => {
    groups.a = { b: [shared("a", ["a1"], ["b1"])], c: [shared("a", ["a2"], ["c1"])] };
    groups.b = { a: [{ name: "shop", local: both("b", "b1"), remote: [...(NAMES.b?.a ?? [])] }] };
    groups.c = { a: [shared("c", ["c1"], ["a2"])] };
    await gateways[site]?.apply(stateOf(site), keys[site]?.private ?? "");
  };
  /** All that somebody may have put there; not what the kernel finds out about cables by itself, and when. */
  const networkOf = async (site: string): Promise<unknown> => {
    const gateway = `${site}-gw`;
    const byItself = (address: string) => /^f[ef]/.test(address);
    const json = async (...args: string[]) => JSON.parse((await namespaces.ip(gateway, "-json", ...args)) || "[]");
    const links = (await json("address")) as { ifname: string; addr_info: { local: string }[] }[];
    const routes = [
      ...(await json("route", "show", "table", "all")),
      ...(await json("-6", "route", "show", "table", "all")),
    ];
    return {
      links: links.map(({ ifname, addr_info: found }) => [
        ifname,
        ...found
          .map(({ local }) => local)
          .filter((each) => !byItself(each))
          .sort(),
      ]),
      rules: [await json("rule"), await json("-6", "rule")],
      routes: (routes as { dst: string; dev?: string; table?: string }[])
        .filter(({ dst, table }) => table !== "local" && !byItself(dst))
        .map(({ dst, dev, table = "main" }) => `${table} ${dst} ${dev}`)
        .sort(),
      tables: await namespaces.run(gateway, "nft", "list", "tables"),
    };
  };
  const denied = (site: string, counter: "denied-in" | "denied-out") => sites.denied(site, counter);
  /** Sends one datagram that must not arrive, and waits until a gateway has dropped it. */
  const isDenied = async (site: string, counter: "denied-in" | "denied-out", from: string, to: string) => {
    const before = await denied(site, counter);
    const sent = await sentBy(site, async () => {
      assert.equal(await pods[from]?.ask(to, { proto: "udp", message: "forbidden", patienceMs: 300 }), "nothing");
      await eventually("it is dropped", async () => (await denied(site, counter)) > before);
    });
    // The other end would drop it too, and must not have to.
    if (counter === "denied-out") assert.equal(sent, 0, "it was counted, and went out nevertheless");
  };
  /** Datagrams to pods that leave a site's gateway by its link meanwhile, after everybody else has seen them. */
  const sentBy = async (site: string, during: () => Promise<void>): Promise<number> => {
    const nft = (text: string) => namespaces.run(`${site}-gw`, "nft", text);
    await nft("add table inet witness");
    await nft("add chain inet witness out { type filter hook postrouting priority 300; }");
    await nft(`add rule inet witness out oifname "${prefixOf(site)}0" udp dport 7000 counter`);
    try {
      await during();
      return Number(/packets (\d+)/.exec(await nft("list table inet witness"))?.[1]);
    } finally {
      await nft("delete table inet witness");
    }
  };
  const nobodyHeard = (message: string) => {
    for (const [name, { heard }] of Object.entries(pods))
      assert.deepEqual(
        heard.filter((each) => each.message === message),
        [],
        name,
      );
  };

  for (const family of [4, 6] as const) {
    it(`carries TCP and UDP of IPv${family} both ways, and each sees the other by its own name for it`, async () => {
      assert.equal(await pods.a1?.ask(called("a", "b1", family), { proto: "udp" }), called("b", "a1", family));
      assert.equal(await pods.a1?.ask(called("a", "b1", family)), called("b", "a1", family));
      assert.equal(await pods.b1?.ask(called("b", "a1", family), { proto: "udp" }), called("a", "b1", family));
      assert.equal(await pods.b1?.ask(called("b", "a1", family)), called("a", "b1", family));
    });

    it(`carries more than fits into a packet of IPv${family}`, async () => {
      const answer = await pods.a1?.ask(called("a", "b1", family), { message: "x*1000000" });
      assert.equal(answer, called("b", "a1", family));
    });

    it(`lets nothing of IPv${family} out or in that no group names`, async () => {
      await isDenied("a", "denied-out", "a2", called("a", "b1", family));
      await isDenied("a", "denied-out", "a1", called("a", "b2", family));
      await isDenied("b", "denied-out", "b2", called("b", "a1", family));
      // The other end is asked too: b lets in only what is for b1.
      const open = stateOf("a");
      const peers = open.peers.map((peer) =>
        peer.siteId === "b" ? { ...peer, groups: [shared("a", ["a1", "a2"], ["b1", "b2"])] } : peer,
      );
      await gateways.a?.apply({ ...open, peers }, keys.a?.private ?? "");
      await isDenied("b", "denied-in", "a1", called("a", "b2", family));
      await apply("a");
      nobodyHeard("forbidden");
    });
  }

  it("sends no larger packets to a peer than get there, where the wire in between loses larger ones silently", async () => {
    const wire = (mtu: number) => namespaces.ip("wan", "link", "set", "dev", "b", "mtu", String(mtu));
    const ask = (patienceMs = 0) => pods.a1?.ask(called("a", "b1"), { message: "x*1000000", patienceMs });
    // What the kernel hands over in one piece is cut up before the wire, as it is on real ones.
    for (const site of ["a", "b"]) await namespaces.ip(`${site}-gw`, "link", "set", "dev", "eth0", "gso_max_segs", "1");
    await wire(1360);
    assert.equal(await ask(2_000), "nothing");
    const state = stateOf("a");
    const peers = state.peers.map((peer) => (peer.siteId === "b" ? { ...peer, mtu: 1296 } : peer));
    await gateways.a?.apply({ ...state, peers }, keys.a?.private ?? "");
    assert.equal(await ask(), called("b", "a1"));
    assert.equal(await pods.b1?.ask(called("b", "a1"), { message: "x*1000000" }), called("a", "b1"));
    const shown = (await namespaces.ip("a-gw", "route", "show", "table", "7443")).trim().split("\n");
    const routes = shown.filter((route) => !route.startsWith("unreachable"));
    assert.deepEqual(
      routes.map((route) => / mtu lock (\d+)/.exec(route)?.[1]),
      ["1296", undefined],
      "others get what they got",
    );
    assert.deepEqual(await gateways.a?.check(), []);
    await wire(1500);
    await apply("a");
  });

  it("keeps groups apart: who may talk to one peer may not talk to another", async () => {
    assert.equal(await pods.a2?.ask(called("a", "c1"), { proto: "udp" }), called("c", "a2"));
    await isDenied("a", "denied-out", "a1", called("a", "c1"));
    await isDenied("c", "denied-out", "c1", called("c", "a1"));
    nobodyHeard("forbidden");
  });

  it("leads a peer to a host outside, where both ends let it, and to no other port, and no other peer", async () => {
    await namespaces.add("host");
    await namespaces.cable("host", "eth0", "a-gw", "lan");
    await namespaces.ip("host", "address", "add", `${HOST.address}/24`, "dev", "eth0");
    await namespaces.ip("a-gw", "address", "add", `${HOST.gateway}/24`, "dev", "lan");
    const host = await EchoPod.start(namespaces, "host");
    pods.host = host;
    exports = [
      {
        address: EXPORTED.own,
        masquerade: true,
        ports: (["TCP", "UDP"] as const).map((protocol) => ({
          protocol,
          port: 7000,
          backends: [{ address: HOST.address, port: 7000 }],
        })),
      },
    ];
    const open = async (site: string, more: Readonly<Record<string, Group>>) => {
      const state = stateOf(site);
      const peers = state.peers.map((peer) => {
        const group = more[peer.siteId];
        return group === undefined ? peer : { ...peer, groups: [...peer.groups, group] };
      });
      await gateways[site]?.apply({ ...state, peers }, keys[site]?.private ?? "");
    };
    const exported: Group = { name: "exports", local: [EXPORTED.own], remote: ["240.0.0.0/16"] };
    const imported: Group = { name: "imports", local: [called("b", "b1")], remote: [EXPORTED.there] };
    await apply("b");
    // One end alone opens nothing, whichever it is.
    await open("a", { b: exported });
    await isDenied("b", "denied-out", "b1", EXPORTED.there);
    await apply("a");
    await open("b", { a: imported });
    await isDenied("a", "denied-in", "b1", EXPORTED.there);
    await open("a", { b: exported });
    assert.equal(await pods.b1?.ask(EXPORTED.there, { proto: "udp" }), HOST.gateway);
    assert.equal(await pods.b1?.ask(EXPORTED.there, { message: "x*1000000" }), HOST.gateway);
    assert.deepEqual(await gateways.a?.check(), []);
    // Another pod of b's, and an address behind which nothing is.
    await isDenied("b", "denied-out", "b2", EXPORTED.there);
    await open("b", { a: { ...imported, remote: [EXPORTED.called] } });
    await isDenied("a", "denied-in", "b1", EXPORTED.there.replace(/7$/, "8"));
    // c opens all of it to itself: a does not.
    await open("c", { a: { ...imported, local: [called("c", "c1")], remote: [exportsAs("c")] } });
    await isDenied("a", "denied-in", "c1", exportsAs("c").replace(".0/20", ".7"));
    // Of two ports one is closed: what has come in ends at the gateway.
    exports = exports.map((each) => ({ ...each, ports: each.ports.filter(({ protocol }) => protocol === "TCP") }));
    await open("a", { b: exported });
    await isDenied("a", "denied-in", "b1", EXPORTED.there);
    assert.equal(await pods.b1?.ask(EXPORTED.there), HOST.gateway);
    // Several hosts of one address, which see who asks: they answer by the gateway.
    await namespaces.ip("host", "route", "add", "default", "via", HOST.gateway);
    await namespaces.ip("host", "address", "add", "198.18.0.3/24", "dev", "eth0");
    const backends = ["198.18.0.2", "198.18.0.3"].map((address) => ({ address, port: 7000 }));
    exports = [{ address: EXPORTED.own, masquerade: false, ports: [{ protocol: "TCP", port: 7000, backends }] }];
    await open("a", { b: exported });
    for (let i = 0; i < 4; i++) assert.equal(await pods.b1?.ask(EXPORTED.there), called("a", "b1"));
    assert.deepEqual(await gateways.a?.check(), []);
    nobodyHeard("forbidden");
    exports = [];
    for (const site of ["a", "b", "c"]) await apply(site);
    assert.equal(await pods.a1?.ask(called("a", "b1")), called("b", "a1"));
    delete pods.host;
    await namespaces.ip("a-gw", "link", "delete", "dev", "lan");
  });

  it("lets machines reach pods at a peer, and whoever comes to a Service by a port of the gateway's node", async () => {
    await namespaces.add("visitor");
    await namespaces.cable("visitor", "eth0", "a-gw", "visitors");
    const [node, machine, stranger] = ["198.18.9.1", "198.18.9.2", "203.0.113.9"];
    for (const address of [machine, stranger])
      await namespaces.ip("visitor", "address", "add", `${address}/24`, "dev", "eth0");
    await namespaces.ip("visitor", "route", "add", "default", "via", node);
    await namespaces.ip("a-gw", "address", "add", `${node}/24`, "dev", "visitors");
    await namespaces.ip("a-gw", "route", "add", stranger, "dev", "visitors");
    const visitor = await EchoPod.start(namespaces, "visitor");
    // As kube-proxy does.
    const pod = called("a", "b1");
    await namespaces.run(
      "a-gw",
      "nft",
      `table ip services {
        chain lead { type nat hook prerouting priority dstnat; ip daddr ${node} tcp dport 7000 dnat to ${pod}; }
        chain hide { type nat hook postrouting priority srcnat; ct status dnat masquerade; }
      }`,
    );
    const openFor = async (site: string, group: Group, more: Partial<NetworkState> = {}) => {
      const naming = { range: EXPORTED.range, called: EXPORTED.called };
      const state = stateOf(site);
      const change = (peer: PeerNetwork): PeerNetwork => ({
        ...peer,
        ...(site === "a" ? { own: [...peer.own, naming] } : { peer: [...peer.peer, naming] }),
        groups: [...peer.groups, group],
      });
      const peers = state.peers.map((peer) => (["a", "b"].includes(peer.siteId) ? change(peer) : peer));
      await gateways[site]?.apply({ ...state, ...more, peers }, keys[site]?.private ?? "");
    };
    const standsFor = { name: "machines", local: ["252.0.15.255"], remote: [pod] };
    await openFor("b", { name: "machines", local: [called("b", "b1")], remote: [EXPORTED.called] });
    await openFor("a", standsFor);
    const refused = (to: string, from: string) => visitor.ask(to, { from, message: "forbidden", patienceMs: 500 });
    for (const from of [machine, stranger])
      assert.equal(await refused(node, from), "nothing", "nobody has said so yet");
    await openFor("a", standsFor, { machines: [`${machine}/32`] });
    for (const [to, from] of [
      [pod, machine],
      [node, machine],
      [node, stranger],
    ] as const)
      assert.equal(await visitor.ask(to, { from }), "240.77.15.255", `${from} at ${to}`);
    assert.equal(await refused(pod, stranger), "nothing", "only what a Service leads there");
    assert.deepEqual(await gateways.a?.check(), []);
    await namespaces.run("a-gw", "nft", "delete table ip services");
    for (const site of ["a", "b"]) await apply(site);
    await namespaces.ip("a-gw", "link", "delete", "dev", "visitors");
  });

  it("drops what a hostile peer sends: unlisted destinations, the gateway itself, and others' sources", async () => {
    const name = `${prefixOf("c")}0`;
    const wire = { own: called("c", "c1"), asCalled: called("a", "c1") };
    // From now on, c sends whatever it likes: no firewall, and the whole world on the other side of its link.
    for (const table of ["fjord", "pods"]) await namespaces.run("c-gw", "nft", "delete", "table", "inet", table);
    const everything = ["replace_allowed_ips=true", "allowed_ip=0.0.0.0/0"];
    await testDevice(namespaces.prefix("c-gw"), name).set([`public_key=${hex(keys.a?.public)}`, ...everything]);
    await namespaces.ip("c-gw", "route", "add", "240.0.0.0/4", "dev", name);
    await namespaces.ip("c-gw", "route", "add", "10.42.0.11/32", "dev", name);
    await namespaces.ip("a-gw", "address", "add", "198.51.100.1/32", "dev", "lo");
    await namespaces.ip("c-gw", "route", "add", "198.51.100.1/32", "dev", name);
    const sources = [wire.asCalled, called("a", "b1"), "10.42.0.12", "203.0.113.7"];
    for (const source of sources) await namespaces.ip("c-gw", "address", "add", `${source}/32`, "dev", "lo");
    hostile = await EchoPod.start(namespaces, "c-gw");
    const send = (to: string, from: string) =>
      hostile.ask(to, { proto: "udp", from, message: "hostile", patienceMs: 300 });
    const before = await denied("a", "denied-in");
    // Its own source, but not what its group names: another pod by its name and by its address, and the gateway.
    for (const to of ["240.9.0.11", "10.42.0.11", "198.51.100.1"])
      assert.equal(await send(to, wire.asCalled), "nothing");
    await eventually("all are dropped", async () => (await denied("a", "denied-in")) >= before + 3);
    // Others' sources, to pods that those may talk with.
    for (const source of [called("a", "b1"), "10.42.0.12", "203.0.113.7"])
      for (const to of ["240.9.0.11", "10.42.0.11", called("b", "a1"), "240.9.0.12"])
        assert.equal(await send(to, source), "nothing");
    // What it may do it still can; by then everything before has arrived, or never will.
    assert.equal(
      await hostile.ask("240.9.0.12", { proto: "udp", from: wire.asCalled, message: "allowed" }),
      wire.asCalled,
    );
    nobodyHeard("hostile");
    await namespaces.ip("a-gw", "address", "delete", "198.51.100.1/32", "dev", "lo");
    // By WireGuard, which knows whose sources they are: they never came to the firewall.
    assert.equal(await denied("a", "denied-in"), before + 3);
    const counted = async () => {
      await gateways.a?.check();
      return gateways.a?.denied.in ?? 0;
    };
    const total = await counted();
    assert.ok(total >= before + 3, `${total} of ${before + 3}`);
    await namespaces.run("a-gw", "nft", "delete", "table", "inet", "fjord");
    assert.equal(await counted(), total, "what was dropped before is not forgotten with the table");
    assert.equal(await counted(), total);
    assert.equal(await send("240.9.0.11", wire.asCalled), "nothing");
    await eventually("it is counted", async () => (await counted()) === total + 1);
  });

  /** Another rule of a's in the place of one: nothing is missing, and nothing is more. */
  const edit = async (chain: string, text: string, by: string) => {
    const rules = await namespaces.run("a-gw", "nft", "-a", "list", "chain", "inet", "fjord", chain);
    const [, rule = "", handle] =
      rules
        .split("\n")
        .find((line) => line.includes(text))
        ?.match(/^\s*(.*) # handle (\d+)$/) ?? [];
    const command = `replace rule inet fjord ${chain} handle ${handle} ${rule.replace(text, by)}\n`;
    await namespaces.run("a-gw", "sh", "-c", `printf '%s' '${command}' | nft -f -`);
  };

  it("would let each of these pass without the rule that stops it, so that the tests above would tell", async () => {
    const asC = called("a", "c1");
    const guards = [
      {
        without: () => edit("arrive4", "drop", "accept"),
        // An unlisted destination, by its address: of names it knows those alone that are listed.
        attack: (message: string) => hostile.ask("10.42.0.11", { proto: "udp", from: asC, message, patienceMs: 300 }),
      },
      {
        without: () => acceptFromC([...(NAMES.a?.c ?? []), "240.0.0.0/16"]),
        // Another's source, to a pod that this other one may talk with.
        attack: (message: string) =>
          hostile.ask(called("b", "a1"), { proto: "udp", from: called("a", "b1"), message, patienceMs: 300 }),
      },
    ];
    for (const [index, { without, attack }] of guards.entries()) {
      const heard = () => pods.a1?.heard.some(({ message }) => message === `without ${index}`) === true;
      await without();
      await eventually("without that rule it is heard", async () => {
        await attack(`without ${index}`);
        return heard();
      });
      assert.ok(((await gateways.a?.check()) ?? []).length > 0, "nobody noticed that it is gone");
      await attack(`with ${index}`);
      assert.equal(await hostile.ask("240.9.0.12", { proto: "udp", from: asC, message: "allowed" }), asC);
      nobodyHeard(`with ${index}`);
    }
    // The same for what leaves.
    await edit("leave4", "drop", "accept");
    const attempt = async () => {
      await pods.a2?.ask(called("a", "b1"), { proto: "udp", message: "leaving", patienceMs: 300 });
    };
    assert.ok((await sentBy("a", attempt)) > 0);
    assert.ok(((await gateways.a?.check()) ?? []).length > 0, "nobody noticed that it is gone");
    assert.equal(await sentBy("a", attempt), 0);
    nobodyHeard("leaving");
  });

  /** What a's WireGuard takes from c; what it is given there is taken from others. */
  const acceptFromC = (ranges: readonly string[]) =>
    testDevice(namespaces.prefix("a-gw"), `${prefixOf("a")}0`).set([
      `public_key=${hex(keys.c?.public)}`,
      ...ranges.map((range) => `allowed_ip=${range}`),
    ]);

  it("goes on with what another process has left, without an interruption", async () => {
    const index = await namespaces.ip("a-gw", "-oneline", "link", "show", "dev", `${prefixOf("a")}0`);
    gateways.a = gatewayOf("a");
    await apply("a");
    assert.equal(await namespaces.ip("a-gw", "-oneline", "link", "show", "dev", `${prefixOf("a")}0`), index);
    assert.deepEqual(await gateways.a.check(), []);
    assert.equal(await pods.a1?.ask(called("a", "b1")), called("b", "a1"));
  });

  it("is silent soon after its agent where it is fenced, and not before", async () => {
    const network = new NodeNetwork({ prefix: namespaces.prefix("a-gw") });
    const fence = new Fence({ network, lastsMs: 1_500, clock: systemClock, logger: silentLogger });
    const live = async () =>
      (await namespaces.run("a-gw", "nft", "list", "set", "inet", "fjord-fence", "live")).includes("expires");
    const ask = (patienceMs = 0) => pods.a1?.ask(called("a", "b1"), { proto: "udp", patienceMs });
    await fence.keep([51_820]);
    assert.equal(await ask(), called("b", "a1"));
    await new Promise((resolve) => setTimeout(resolve, 2_000));
    assert.equal(await ask(), called("b", "a1"), "a sign of life is renewed");
    await fence.rest();
    await eventually("nobody lives", async () => !(await live()));
    assert.equal(await ask(500), "nothing");
    await fence.keep([51_820]);
    assert.equal(await ask(), called("b", "a1"));
    await fence.remove();
    assert.equal(await ask(), called("b", "a1"));
  });

  it("lets nothing take another way when WireGuard's process has ended", async () => {
    // Whoever is asked by the default route would be told in clear.
    await namespaces.ip("a-gw", "route", "add", "default", "via", "192.0.2.2");
    await namespaces.run("a-gw", "nft", "add table inet witness");
    await namespaces.run("a-gw", "nft", "add chain inet witness out { type filter hook postrouting priority 300; }");
    await namespaces.run("a-gw", "nft", 'add rule inet witness out oifname "eth0" udp dport 7000 counter');
    try {
      await namespaces.ip("a-gw", "link", "delete", "dev", `${prefixOf("a")}0`);
      for (const family of [4, 6] as const)
        await pods.a1?.ask(called("a", "b1", family), { proto: "udp", message: "in clear", patienceMs: 300 });
      assert.match(await namespaces.run("a-gw", "nft", "list table inet witness"), /counter packets 0 /);
      assert.ok(((await gateways.a?.check()) ?? []).length > 0);
      assert.equal(await pods.a1?.ask(called("a", "b1")), called("b", "a1"), "and it is put back");
    } finally {
      await namespaces.run("a-gw", "nft", "delete table inet witness");
      await namespaces.ip("a-gw", "route", "delete", "default");
    }
  });

  /** Takes a local address from a map of a's, and gives it another name. */
  const member = async (map: string, ...verbs: ("delete" | "add")[]) => {
    const text = await namespaces.run("a-gw", "nft", "list", "map", "inet", "fjord", map);
    const [, key = ""] = /(\d\S+ \. 0x\S+) : /.exec(text) ?? [];
    for (const verb of verbs)
      await namespaces.run(
        "a-gw",
        "nft",
        `${verb} element inet fjord ${map} { ${key}${verb === "add" ? " : 10.42.0.99" : ""} }`,
      );
  };

  it("puts back what others have taken away", async () => {
    const gateway = gateways.a as Gateway;
    const name = `${prefixOf("a")}0`;
    const damages: (() => Promise<unknown>)[] = [
      () => edit("arrive4", "drop", "accept"),
      () => edit("leave4", "drop", "accept"),
      () => member("leaving4", "delete"),
      () => member("arriving4", "delete", "add"),
      () => namespaces.run("a-gw", "nft", "chain", "inet", "fjord", "leave", "{ policy drop; }"),
      () => namespaces.run("a-gw", "nft", "delete", "table", "inet", "fjord"),
      () => namespaces.run("a-gw", "nft", "flush", "chain", "inet", "fjord", "leave4"),
      () => namespaces.run("a-gw", "nft", "flush", "map", "inet", "fjord", "leaving4"),
      () => namespaces.ip("a-gw", "route", "delete", "240.0.0.0/16", "table", "7443"),
      () =>
        namespaces.ip(
          "a-gw",
          "route",
          "delete",
          "unreachable",
          "240.0.0.0/16",
          "metric",
          "4294967295",
          "table",
          "7443",
        ),
      () => namespaces.ip("a-gw", "rule", "delete", "preference", "7443"),
      () => namespaces.ip("a-gw", "link", "set", "dev", name, "down"),
      () => namespaces.ip("a-gw", "link", "set", "dev", name, "mtu", "1280"),
      () => namespaces.ip("a-gw", "link", "delete", name),
    ];
    for (const damage of damages) {
      await damage();
      assert.ok((await gateway.check()).length > 0, String(damage));
      assert.deepEqual(await gateway.check(), [], String(damage));
      assert.equal(await pods.a1?.ask(called("a", "b1"), { proto: "udp" }), called("b", "a1"), String(damage));
    }
  });

  for (const family of [4, 6] as const)
    it(`has flows of IPv${family} begin anew that got the node's address while its firewall was away`, async () => {
      // As pods' networks do, of either family.
      const pods6 = `ip6 saddr ${POD_RANGES[1]} ip6 daddr != ${POD_RANGES[1]} masquerade`;
      const hiding = `chain leave { type nat hook postrouting priority srcnat; ${pods6}; }`;
      const witness = `chain out { type filter hook postrouting priority 300; oifname "${prefixOf("a")}0" udp dport 7000 counter; }`;
      await namespaces.run("a-gw", "nft", `table inet pods6 { ${hiding}\n}; table inet witness { ${witness}\n}`);
      try {
        await namespaces.run("a-gw", "nft", "delete", "table", "inet", "fjord");
        // The same one sends again and again.
        const asked = pods.a1?.ask(called("a", "b1", family), { proto: "udp" });
        await eventually("it goes out", async () =>
          /packets [1-9]/.test(await namespaces.run("a-gw", "nft", "list table inet witness")),
        );
        assert.ok(((await gateways.a?.check()) ?? []).length > 0);
        const late = new Promise((resolve) => setTimeout(resolve, 5_000, "nothing").unref());
        assert.equal(await Promise.race([asked, late]), called("b", "a1", family));
      } finally {
        await namespaces.run("a-gw", "nft", "delete table inet pods6; delete table inet witness");
      }
    });

  it("has flows begin anew that were sent elsewhere, by the node's address, before there was a link", async () => {
    await gateways.a?.remove();
    await namespaces.ip("a-gw", "route", "add", "default", "via", "192.0.2.2");
    const witness = 'chain out { type filter hook postrouting priority 300; oifname "eth0" udp dport 7000 counter; }';
    // By a fixed address: what masquerades is forgotten by the kernel itself when another interface is the way.
    const hide = `chain hide { type nat hook postrouting priority srcnat; oifname "eth0" udp dport 7000 snat ip to 192.0.2.1; }`;
    await namespaces.run("a-gw", "nft", `table inet witness { ${witness}\n${hide}\n}`);
    try {
      // The same one sends again and again.
      const asked = pods.a1?.ask(called("a", "b1"), { proto: "udp" });
      await eventually("it goes out", async () =>
        /packets [1-9]/.test(await namespaces.run("a-gw", "nft", "list table inet witness")),
      );
      await apply("a");
      const late = new Promise((resolve) => setTimeout(resolve, 15_000, "nothing").unref());
      assert.equal(await Promise.race([asked, late]), called("b", "a1"));
    } finally {
      await namespaces.run("a-gw", "nft", "delete table inet witness");
      await namespaces.ip("a-gw", "route", "delete", "default");
    }
  });

  it("begins by an interface that was prepared, into which nothing leads before, and which goes where it is not used", async () => {
    const gateway = gateways.a as Gateway;
    const name = `${prefixOf("a")}0`;
    const number = async () => JSON.parse(await namespaces.ip("a-gw", "-json", "link", "show", "dev", name))[0].ifindex;
    await gateway.remove();
    await gateway.prepare(stateOf("a"));
    const prepared = await number();
    const { privateKey, peers } = await testDevice(namespaces.prefix("a-gw"), name).get();
    assert.deepEqual([/[^0]/.test(privateKey), peers.size], [false, 0]);
    assert.equal(await namespaces.ip("a-gw", "route", "show", "table", "7443").catch(() => ""), "");
    await apply("a");
    assert.equal(await number(), prepared, "it was made anew");
    const ask = () => pods.a1?.ask(called("a", "b1"), { proto: "udp", patienceMs: 3_000 });
    assert.equal(await ask(), called("b", "a1"));
    assert.deepEqual(await gateway.check(), []);
    await gateway.prepare();
    assert.equal(await number(), prepared, "it is used");
    await gateway.remove();
    await gateway.prepare(stateOf("a"));
    await namespaces.ip("a-gw", "link", "delete", name);
    await apply("a");
    assert.equal(await ask(), called("b", "a1"), "though what was prepared is gone");
    await gateway.remove();
    await gateway.prepare(stateOf("a"));
    await gateway.prepare();
    assert.deepEqual(await networkOf("a"), empty.a);
    await apply("a");
  });

  it("looks for a peer where it is said to be when links come back to it, and not where it was sought last", async () => {
    const open = stateOf("a");
    const at = (port: number) => `${sites.site("b").address}:${port}`;
    const state = {
      ...open,
      peers: open.peers.map((peer) =>
        peer.siteId === "b" ? { ...peer, link: { ...peer.link, endpoints: [at(51_820), at(51_999)] } } : peer,
      ),
    };
    const carry = () => gateways.a?.apply(state, keys.a?.private ?? "");
    const device = testDevice(namespaces.prefix("a-gw"), `${prefixOf("a")}0`);
    const soughtAt = async () => (await device.get()).peers.get(hex(keys.b?.public))?.endpoint;
    await gateways.b?.remove();
    await carry();
    await eventually("it is sought elsewhere", async () => {
      await gateways.a?.tend(() => "often");
      return (await soughtAt()) === at(51_999);
    });
    await gateways.a?.remove();
    await apply("b");
    await carry();
    assert.equal(await soughtAt(), at(51_820));
    assert.equal(await pods.a1?.ask(called("a", "b1")), called("b", "a1"));
  });

  it("leaves nothing behind", async () => {
    for (const site of ["a", "b"]) {
      await gateways[site]?.remove();
      assert.deepEqual(await networkOf(site), empty[site]);
      await gatewayOf(site).remove();
    }
  });
});

function hex(base64 = ""): string {
  return Buffer.from(base64, "base64").toString("hex");
}
