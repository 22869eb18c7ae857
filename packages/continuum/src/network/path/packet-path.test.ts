import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { AddressPlan, Export, Link, newObject } from "@fjord/api";
import type { NetworkPolicy, Pod } from "@fjord/kube";
import { MACHINE_ADDRESSES } from "../link-address.ts";
import { meantByGuest } from "./home-word.ts";
import { packetPath } from "./packet-path.ts";
import type { PacketPath, PathEnd, SiteView } from "./path.ts";

const HARBOR = "aaaaaaaaaaaaaaaaaaaaaaaaaa";
const WAVE = "bbbbbbbbbbbbbbbbbbbbbbbbbb";
const REEF = "cccccccccccccccccccccccccc";
const RANGE = "10.42.0.0/16";
const at = "2030-01-01T00:00:00Z";
const up = { type: "Ready", status: "True", reason: "HandshakeSeen", message: "", lastTransitionTime: at } as never;
const names: Readonly<Record<string, string>> = { [HARBOR]: "harbor", [WAVE]: "wave", [REEF]: "reef" };

/** Harbor calls wave 240.0/16, and wave calls harbor 241.9/16. */
const plan = (peer: string, own: string, others: string): AddressPlan =>
  newObject(AddressPlan, {
    metadata: { name: peer },
    spec: { site: peer, own: [{ range: RANGE, called: own }], peer: [{ range: RANGE, called: others }] },
  });
const link = (peer: string, local: string[], remote: string[]): Link => ({
  ...newObject(Link, {
    metadata: { name: peer },
    spec: { site: peer, publicKey: "k", endpoints: [], groups: [{ name: "shop", local, remote }] },
  }),
  status: { endpoint: "192.0.2.2:51820", conditions: [up] },
});
const view = (id: string, parts: Partial<SiteView> = {}): SiteView => ({
  id,
  name: names[id] ?? "",
  nameOf: (other) => names[other ?? ""],
  ranges: [RANGE],
  plans: [],
  links: [],
  faults: new Map(),
  policies: [],
  namespaces: new Map([["shop", { team: "shop" }]]),
  ...parts,
});
const harbor = view(HARBOR, {
  plans: [plan(WAVE, "241.9.0.0/16", "240.0.0.0/16")],
  links: [link(WAVE, ["10.42.0.7"], ["240.0.3.9"])],
});
const wave = view(WAVE, {
  plans: [plan(HARBOR, "240.0.0.0/16", "241.9.0.0/16")],
  links: [link(HARBOR, ["10.42.3.9"], ["241.9.0.0/16"])],
});
const pod = (name: string, labels: Record<string, string> = {}, spec: object = {}): Pod =>
  ({ metadata: { name, namespace: "shop", labels }, spec }) as Pod;
const web: PathEnd = { title: "pod shop/web", site: HARBOR, address: "10.42.0.7", pod: pod("web", { app: "web" }) };
const data: PathEnd = {
  title: "pod shop/data",
  site: WAVE,
  address: "240.0.3.9",
  pod: pod("data", { app: "data" }),
  there: pod("data", { app: "data" }),
};
const policy = (name: string, spec: object): NetworkPolicy =>
  ({ metadata: { name, namespace: "shop" }, spec: { podSelector: {}, ...spec } }) as NetworkPolicy;
const packets = ({ hops }: PacketPath) => hops.map(({ source, destination }) => `${source} ${destination}`);
const drop = ({ hops }: PacketPath) => {
  const last = hops.at(-1);
  return last?.verdict === "Dropped" ? `${last.site} ${last.at}: ${last.what}` : undefined;
};

describe("the way of a connection that the agents carry", () => {
  const proxied: AddressPlan = newObject(AddressPlan, {
    metadata: { name: WAVE },
    spec: {
      site: WAVE,
      carrier: "Proxy",
      own: [{ range: "127.88.0.0/22", called: "127.89.128.0/22" }],
      peer: [{ range: "127.89.0.0/22", called: "127.88.128.0/22" }],
    },
  });
  const laptop = (parts: Partial<SiteView> = {}) =>
    view(HARBOR, { ranges: [], plans: [proxied], reachable: () => true, ...parts });
  const mine = { ...web, address: "127.88.0.7" };
  const theirs = { ...data, address: "127.88.128.9" };

  it("leads through both agents, to the pod's own address", () => {
    const path = packetPath(laptop(), undefined, mine, theirs);
    assert.equal(path.verdict, "Delivered");
    const seen = ({ hops }: PacketPath) =>
      hops.map(({ site, at, source, destination }) => [site, at, source, destination]);
    assert.deepEqual(seen(path), [
      ["harbor", "pod", "127.88.0.7", "127.88.128.9"],
      ["harbor", "agent", "127.88.0.7", "127.88.128.9"],
      [undefined, "link", "127.88.0.7", "127.88.128.9"],
      ["wave", "agent", "127.89.128.7", "127.89.0.9"],
      ["wave", "pod", "127.89.128.7", "127.89.0.9"],
    ]);
    const back = packetPath(laptop(), undefined, theirs, mine);
    assert.equal(back.verdict, "Delivered");
    assert.deepEqual(seen(back), [
      ["wave", "pod", "127.89.0.9", "127.89.128.7"],
      ["wave", "agent", "127.89.0.9", "127.89.128.7"],
      [undefined, "link", "127.89.0.9", "127.89.128.7"],
      ["harbor", "agent", "127.88.128.9", "127.88.0.7"],
      ["harbor", "pod", "127.88.128.9", "127.88.0.7"],
    ]);
  });

  it("ends where a policy of either end does not have the other, and between namespaces", () => {
    const policy = (name: string, spec: object) =>
      ({ metadata: { name, namespace: "shop" }, spec: { podSelector: {}, ...spec } }) as unknown as NetworkPolicy;
    const labelled = (end: PathEnd, labels: Record<string, string>): PathEnd =>
      ({ ...end, pod: { ...end.pod, metadata: { ...end.pod?.metadata, labels } } }) as PathEnd;
    const only = { podSelector: { matchLabels: { tier: "front" } } };
    const ingress = laptop({ policies: [policy("in", { ingress: [{ from: [only] }] })] });
    assert.match(drop(packetPath(ingress, undefined, mine, theirs)) ?? "", /^wave policy: no rule/);
    assert.equal(packetPath(ingress, undefined, labelled(mine, { tier: "front" }), theirs).verdict, "Delivered");
    const egress = laptop({ policies: [policy("out", { policyTypes: ["Egress"] })] });
    assert.match(drop(packetPath(egress, undefined, mine, theirs)) ?? "", /^harbor policy: no rule/);
    const { pod: _, ...unknown } = mine;
    assert.equal(
      packetPath(ingress, undefined, unknown, theirs).verdict,
      "Unknown",
      "its labels are told by its agent",
    );
    const stranger = { ...mine, pod: { ...mine.pod, metadata: { name: "x", namespace: "other" } } as Pod };
    assert.match(
      drop(packetPath(laptop(), undefined, stranger, theirs)) ?? "",
      /^harbor agent: .*only between pods of one/,
    );
  });

  it("ends where the peer is away, where names are unknown, and at a pod without an address of its own", () => {
    assert.match(
      drop(packetPath(laptop({ reachable: () => false }), undefined, mine, theirs)) ?? "",
      /does not answer/,
    );
    const nameless = { ...proxied, spec: { ...proxied.spec, peer: [{ range: "127.89.0.0/22" }] } };
    assert.match(
      drop(packetPath(laptop({ plans: [nameless] }), undefined, mine, theirs)) ?? "",
      /harbor agent: nobody/,
    );
    const onHost = { ...theirs, pod: pod("data", {}, { hostNetwork: true }) };
    assert.match(drop(packetPath(laptop(), undefined, mine, onHost)) ?? "", /wave agent: .*no address of its own/);
  });

  it("is not said to arrive where some endpoints have no stand-in", () => {
    const condition = { type: "StandInsComplete", status: "False", reason: "TooMany" } as const;
    const conditions = [{ ...condition, message: "", lastTransitionTime: "2026-01-01T00:00:00Z" }];
    const incomplete: AddressPlan = { ...proxied, status: { conditions } };
    const path = packetPath(laptop({ plans: [incomplete] }), undefined, mine, theirs);
    assert.equal(path.verdict, "Unknown");
    assert.match(path.advice.join(), /fewer endpoints/);
    assert.equal(packetPath(laptop({ plans: [incomplete] }), undefined, theirs, mine).verdict, "Delivered");
  });

  it("leads from one peer to another through this site", () => {
    const reef: AddressPlan = {
      ...proxied,
      metadata: { name: REEF },
      spec: {
        ...proxied.spec,
        site: REEF,
        own: [...proxied.spec.own, { range: "127.88.128.0/22", called: "127.90.132.0/22" }],
        peer: [{ range: "127.90.0.0/22", called: "127.88.132.0/22" }],
      },
    };
    const far = { ...theirs, site: REEF, address: "127.88.132.5" };
    const through = laptop({ plans: [proxied, reef] });
    const path = packetPath(through, undefined, theirs, far);
    assert.deepEqual(
      [path.verdict, path.hops.map(({ site }) => site ?? "").join(), path.hops.at(-1)?.destination],
      ["Delivered", "wave,wave,harbor,harbor,,reef,reef", "127.90.0.5"],
    );
    const away = (id: string) => id !== WAVE;
    assert.match(drop(packetPath({ ...through, reachable: away }, undefined, theirs, far)) ?? "", /wave does not/);
    assert.match(drop(packetPath({ ...through, reachable: away }, undefined, far, theirs)) ?? "", /does not answer/);
    const stranger = { ...far, pod: { ...far.pod, metadata: { name: "x", namespace: "other" } } as Pod };
    assert.match(drop(packetPath(through, undefined, theirs, stranger)) ?? "", /only between pods of one/);
  });

  it("is not claimed where this site cannot know whether the namespace is shared", () => {
    const { pod: _, ...unknown } = theirs;
    assert.equal(packetPath(laptop(), undefined, mine, unknown).verdict, "Unknown");
  });

  it("names whom to ask where only the other site knows, and what that does not know either", () => {
    const { pod: _, ...client } = theirs;
    const unknowns = (there: SiteView | undefined, from: PathEnd, to: PathEnd, parts: Partial<SiteView> = {}) =>
      packetPath(laptop(parts), there, from, to).hops.flatMap(({ verdict, what }) =>
        verdict === "Unknown" ? [what] : [],
      );
    const only = { podSelector: { matchLabels: { tier: "front" } } };
    const policies = [policy("in", { ingress: [{ from: [only] }] })];
    const [shared, policed] = unknowns(undefined, client, mine, { policies });
    assert.match(shared ?? "", /namespace is shared.*only the API of wave knows; .*--peer-context/);
    assert.match(policed ?? "", /depends on the labels.*only the API of wave knows; .*--peer-context/);
    assert.match(unknowns(view(WAVE), client, mine)[0] ?? "", /: wave has no such pod$/);
    const { pod: __, ...other } = { ...theirs, address: "127.88.128.10" };
    const [both, ...more] = unknowns(undefined, client, other);
    assert.match(both ?? "", /both are wave's, there or at sites that it uses.*only the API of wave knows/);
    assert.deepEqual(more, []);
  });
});

describe("the way of a packet", () => {
  it("shows what stands in it at each hop, on the way out and on the way back", () => {
    const out = packetPath(harbor, wave, web, data);
    assert.equal(out.verdict, "Delivered");
    assert.deepEqual([...new Set(packets(out))], ["10.42.0.7 240.0.3.9", "241.9.0.7 240.0.3.9", "241.9.0.7 10.42.3.9"]);
    const back = packetPath(harbor, wave, data, web);
    assert.equal(back.verdict, "Delivered");
    assert.deepEqual(
      [...new Set(packets(back))],
      ["10.42.3.9 241.9.0.7", "240.0.3.9 241.9.0.7", "240.0.3.9 10.42.0.7"],
    );
    assert.ok(out.hops.some(({ rule }) => rule === `Link ${WAVE}, group shop`));
    assert.ok(out.hops.some(({ rule }) => rule === "AddressPlan: 10.42.0.0/16 is called 241.9.0.0/16"));
  });

  it("asked at the other site, is the same", () => {
    const here = { ...data, address: "10.42.3.9" };
    const there = { ...web, address: "241.9.0.7", there: pod("web") };
    const texts = (path: PacketPath) =>
      path.hops.map(({ site, at, source, destination }) => [site, at, source, destination]);
    assert.deepEqual(texts(packetPath(wave, harbor, there, here)), texts(packetPath(harbor, wave, web, data)));
  });

  it("does not claim what only the other site's API knows", () => {
    const path = packetPath(harbor, undefined, web, data);
    assert.equal(path.verdict, "Unknown");
    assert.deepEqual(
      path.hops.filter(({ verdict }) => verdict === "Unknown").map(({ site, at }) => [site, at]),
      [["wave", "gateway"]],
    );
    assert.match(
      path.hops.find(({ verdict }) => verdict === "Unknown")?.what ?? "",
      /only the API of wave knows: .*--peer-context/,
    );
  });

  it("ends at the gateway that has no group for it, and says which end is missing", () => {
    const stranger = { ...web, title: "pod other/x", address: "10.42.0.8" };
    assert.match(
      drop(packetPath(harbor, wave, stranger, data)) ?? "",
      /^harbor gateway: 10\.42\.0\.8, of pod other\/x, is in no group/,
    );
    assert.match(
      drop(packetPath(harbor, wave, web, { ...data, address: "240.0.3.10" })) ?? "",
      /^harbor gateway: 240\.0\.3\.10/,
    );
    const strict = { ...wave, links: [link(HARBOR, ["10.42.3.8"], ["241.9.0.0/16"])] };
    assert.match(drop(packetPath(harbor, strict, web, data)) ?? "", /^wave gateway: 10\.42\.3\.9/);
    const apart = { ...harbor, links: [link(WAVE, ["10.42.0.7"], ["240.0.3.8"])] };
    apart.links[0]?.spec.groups.push({ name: "other", local: ["10.42.0.1"], remote: ["240.0.3.9"] });
    assert.match(drop(packetPath(apart, wave, web, data)) ?? "", /group shop, and 240\.0\.3\.9 in other: never both/);
  });

  it("claims nothing of sites without a link, but that an address which is taken here does not leave", () => {
    const bare = { ...harbor, plans: [], links: [] };
    const far = { ...data, address: "10.43.3.9" };
    for (const [from, to] of [
      [web, far],
      [far, web],
    ] as const) {
      const path = packetPath(bare, undefined, from, to);
      assert.equal(path.verdict, "Unknown");
      assert.match(
        path.hops.at(-1)?.what ?? "",
        /have no link: it arrives where their networks are joined by something/,
      );
      assert.match(path.advice.join(), /fjord peer SITE --link/);
    }
    const [here, there] = [web, data].map((end) => ({ ...end, address: end.address.replace(/^\d+/, "127") }));
    const shared = packetPath({ ...bare, ranges: [] }, undefined, here as PathEnd, there as PathEnd);
    assert.match(
      shared.hops.at(-1)?.what ?? "",
      /harbor and wave have no link: it arrives where both .* on one machine/,
    );
    assert.match(
      drop(packetPath(bare, undefined, web, { ...data, address: "10.42.3.9" })) ?? "",
      /^harbor network: .*10\.42\.3\.9 is one of this site's own addresses \(10\.42\.0\.0\/16\): a packet to it stays/,
    );
    const strangers = packetPath(bare, undefined, far, { ...web, site: REEF, address: "10.44.0.1" });
    assert.deepEqual([strangers.verdict, strangers.hops.at(-1)?.at], ["Unknown", "network"]);
    const host = { ...web, pod: pod("web", {}, { hostNetwork: true }) };
    assert.equal(packetPath(bare, undefined, host, far).verdict, "Unknown");
    const closed = { ...bare, policies: [policy("none", { policyTypes: ["Ingress", "Egress"] })] };
    assert.match(drop(packetPath(closed, undefined, web, far)) ?? "", /^harbor policy/);
    assert.match(drop(packetPath(closed, undefined, far, web)) ?? "", /^harbor policy/);
  });

  it("ends where there is no name, no Link, or the link is down", () => {
    const far = { ...data, address: "240.1.0.9" };
    assert.match(drop(packetPath(harbor, wave, web, far)) ?? "", /240\.1\.0\.9 has no name/);
    assert.match(drop(packetPath({ ...harbor, links: [] }, wave, web, data)) ?? "", /no Link with wave/);
    const down = link(WAVE, ["10.42.0.7"], ["240.0.3.9"]);
    down.status = { conditions: [{ ...(up as object), status: "False", reason: "NoHandshake" } as never] };
    assert.match(drop(packetPath({ ...harbor, links: [down] }, wave, web, data)) ?? "", /link: .*down \(NoHandshake\)/);
    const faulty = { ...harbor, faults: new Map([[WAVE, "its range would be everything"]]) };
    assert.match(drop(packetPath(faulty, wave, web, data)) ?? "", /left out: its range would be everything/);
  });

  it("is led on where the address stands for an Export, and says so", () => {
    const far = { ...data, title: "240.1.0.7", address: "240.1.0.7" };
    const naming = { range: "252.0.0.0/20", called: "240.1.0.0/20" };
    const [here, there] = [
      structuredClone({ ...harbor, nameOf: undefined }),
      structuredClone({ ...wave, nameOf: undefined }),
    ];
    here.plans[0]?.spec.peer.push(naming);
    there.plans[0]?.spec.own.push(naming);
    here.links[0]?.spec.groups.push({ name: "fjord.dev/imports/shop", local: ["10.42.0.7"], remote: ["240.1.0.7"] });
    there.links[0]?.spec.groups.push({ name: "fjord.dev/exports", local: ["252.0.0.7"], remote: ["241.9.0.0/16"] });
    const spec = { sites: ["harbor"], host: { address: "192.168.7.20", ports: [{ port: 5432 }] } };
    const backends = [{ address: "192.168.7.20", port: 5432 }];
    const ports = [{ protocol: "TCP" as const, port: 5432, backends }];
    const entries = [{ name: "db", addresses: ["252.0.0.7"], masquerade: true, ports }];
    const object = { ...newObject(Export, { metadata: { name: "db" }, spec }), status: { entries } };
    const mine = { ...here, nameOf: harbor.nameOf };
    const theirs = { ...there, nameOf: wave.nameOf, exports: [object] };
    const path = packetPath(mine, theirs, web, far);
    assert.equal(path.verdict, "Delivered");
    assert.match(
      path.hops.at(-1)?.what ?? "",
      /stands for db: leads TCP 5432 to 192\.168\.7\.20:5432, which sees the gateway/,
    );
    assert.match(drop(packetPath(mine, { ...theirs, exports: [] }, web, far)) ?? "", /stands for no Export any more/);
    const closed = packetPath({ ...mine, links: harbor.links }, theirs, web, far);
    assert.match(drop(closed) ?? "", /^harbor gateway: 240\.1\.0\.7.* is in no group/);
    assert.match(closed.advice.join(), /an Export at the site that has it.*an Import in the pod's namespace/);
  });

  it("knows what links are not for: the node's network, two other sites, and what is here", () => {
    const host = { ...web, pod: pod("web", {}, { hostNetwork: true }) };
    assert.match(drop(packetPath(harbor, wave, host, data)) ?? "", /on the network of its node/);
    assert.match(
      drop(packetPath(harbor, wave, data, { ...web, site: REEF })) ?? "",
      /wave and at reef do not meet: harbor has no link with reef/,
    );
    const near = packetPath(harbor, undefined, web, { ...web, title: "pod shop/b", address: "10.42.0.8" });
    assert.equal(near.verdict, "Delivered");
    assert.ok(near.hops.every(({ at }) => at !== "link" && at !== "gateway"));
    assert.equal(
      packetPath(harbor, wave, web, { title: "192.0.2.1", site: undefined, address: "192.0.2.1" }).verdict,
      "Unknown",
    );
  });

  it("asks the NetworkPolicies of either site, by what the other end is called there", () => {
    const only = (cidr: string) => policy("only", { ingress: [{ from: [{ ipBlock: { cidr } }] }] });
    const with_ = (found: NetworkPolicy) => ({ ...wave, policies: [found] });
    assert.match(drop(packetPath(harbor, with_(only("10.42.0.7/32")), web, data)) ?? "", /^wave policy/);
    assert.equal(packetPath(harbor, with_(only("241.9.0.0/16")), web, data).verdict, "Delivered");
    const egress = (labels: object) =>
      policy("out", {
        policyTypes: ["Egress"],
        egress: [{ to: [{ podSelector: { matchLabels: labels } }], ports: [{ port: 80 }] }],
      });
    const path = packetPath({ ...harbor, policies: [egress({ app: "data" })] }, wave, web, data);
    assert.equal(path.verdict, "Delivered");
    assert.ok(path.hops.some(({ what, rule }) => /TCP 80 alone/.test(what) && rule === "NetworkPolicy shop/out"));
    assert.match(
      drop(packetPath({ ...harbor, policies: [egress({ app: "web" })] }, wave, web, data)) ?? "",
      /^harbor policy/,
    );
    const spaces = (team: string) =>
      policy("teams", {
        policyTypes: ["Egress"],
        egress: [{ to: [{ namespaceSelector: { matchLabels: { team } } }] }],
      });
    assert.equal(packetPath({ ...harbor, policies: [spaces("shop")] }, wave, web, data).verdict, "Delivered");
    assert.equal(packetPath({ ...harbor, policies: [spaces("bank")] }, wave, web, data).verdict, "Dropped");
    const closed = policy("none", { policyTypes: ["Ingress"] });
    assert.equal(packetPath({ ...harbor, policies: [closed] }, wave, web, data).verdict, "Delivered");
    assert.equal(packetPath({ ...harbor, policies: [closed] }, wave, data, web).verdict, "Dropped");
  });

  it("knows of a guest's policies by the own ones, of which its site has twins", () => {
    const from = (labels: object) =>
      policy("walls", { ingress: [{ from: [{ podSelector: { matchLabels: labels } }] }] });
    const closed = { ...harbor, policies: [from({ app: "other" })] };
    assert.match(drop(packetPath(closed, undefined, web, data)) ?? "", /^wave policy/);
    const open = packetPath({ ...harbor, policies: [from({ app: "web" })] }, undefined, web, data);
    assert.equal(open.verdict, "Unknown");
    assert.ok(open.hops.some(({ rule, site }) => site === "wave" && rule === "twin of NetworkPolicy shop/walls"));
    const out = policy("out", { policyTypes: ["Egress"], egress: [] });
    assert.match(drop(packetPath({ ...harbor, policies: [out] }, undefined, data, web)) ?? "", /^wave policy/);
  });
});

describe("the way of a packet between guests at two providers, as their consumer knows it", () => {
  const introduced = (peer: string, other: string, called: string, named = true): AddressPlan => {
    const { metadata, spec } = plan(peer, "241.9.0.0/16", peer === WAVE ? "240.0.0.0/16" : "240.1.0.0/16");
    const others = [{ site: other, names: named ? [{ range: RANGE, called }] : [] }];
    return newObject(AddressPlan, { metadata: { name: metadata.name ?? "" }, spec: { ...spec, others } });
  };
  /** Wave calls reef 242.2/16, and reef calls wave 243.3/16. */
  const consumer = (named = true) =>
    view(HARBOR, {
      plans: [introduced(WAVE, REEF, "242.2.0.0/16", named), introduced(REEF, WAVE, "243.3.0.0/16", named)],
    });
  const cache: PathEnd = { title: "pod shop/cache", site: REEF, address: "240.1.4.4", pod: pod("cache") };

  it("has the names of both, and what only they know is not claimed", () => {
    const path = packetPath(consumer(), undefined, data, cache);
    assert.equal(path.verdict, "Unknown");
    assert.deepEqual(packets(path), [
      "10.42.3.9 242.2.4.4",
      "10.42.3.9 242.2.4.4",
      "243.3.3.9 242.2.4.4",
      "243.3.3.9 242.2.4.4",
      "243.3.3.9 10.42.4.4",
      "243.3.3.9 10.42.4.4",
      "243.3.3.9 10.42.4.4",
    ]);
    assert.match(path.hops.at(3)?.what ?? "", /introduced by this site.*only they know/);
  });

  it("knows the list of the one that may be asked too", () => {
    const at = (remote: string) => view(WAVE, { links: [link(REEF, ["10.42.3.9"], [remote])] });
    const open = packetPath(consumer(), at("242.2.4.4"), data, cache);
    assert.equal(open.hops.at(1)?.rule, `Link ${REEF}, group shop`);
    assert.match(open.hops.at(3)?.what ?? "", /peer at 192\.0\.2\.2:51820/);
    assert.match(
      drop(packetPath(consumer(), at("242.2.4.5"), data, cache)) ?? "",
      /^wave gateway: 242\.2\.4\.4.*in no group/,
    );
    assert.match(
      drop(packetPath(consumer(), at("242.2.4.5"), cache, data)) ?? "",
      /^wave gateway/,
      "and on the way in",
    );
  });

  it("ends where they are not introduced, do not know each other's names yet, or are of two namespaces", () => {
    assert.match(drop(packetPath(consumer(false), undefined, data, cache)) ?? "", /have not said yet what they call/);
    const strangers = view(HARBOR, { plans: [plan(WAVE, RANGE, "240.0.0.0/16"), plan(REEF, RANGE, "240.1.0.0/16")] });
    const path = packetPath(strangers, undefined, data, cache);
    assert.match(drop(path) ?? "", /not introduced, as no namespace is offloaded to both, or an owner refuses/);
    assert.match(path.advice.join(), /introductions: Refuse/);
    const bank = { ...cache, pod: { ...pod("cache"), metadata: { name: "cache", namespace: "bank" } } as Pod };
    assert.match(drop(packetPath(consumer(), undefined, data, bank)) ?? "", /shop and bank are never in one group/);
  });
});

describe("what to do about a pod that is in no group", () => {
  const advice = (from: PathEnd, to: PathEnd, there?: SiteView) => packetPath(harbor, there, from, to).advice.join();
  const other = (end: PathEnd, namespace: string, address: string): PathEnd => {
    const found = { ...pod("x"), metadata: { name: "x", namespace } } as Pod;
    return { ...end, title: `pod ${namespace}/x`, address, pod: found };
  };
  const bare = ({ site }: PathEnd, address: string): PathEnd => ({ title: address, site, address });

  it("is to offload its namespace, where both are of one", () => {
    assert.match(advice(other(web, "bank", "10.42.0.8"), other(data, "bank", "240.0.3.8")), /offload namespace bank/);
  });

  it("is an Export where they are of two, or the other is no pod of this site's", () => {
    const two = advice(other(web, "bank", "10.42.0.8"), data);
    assert.match(two, /^namespaces bank and shop are never in one group.*Export.*Import/);
    const foreign = advice(web, bare(data, "240.0.3.77"));
    assert.match(foreign, /no pod of a namespace that the two share is known as 240\.0\.3\.77.*Export there/);
    for (const text of [two, foreign]) assert.doesNotMatch(text, /offload namespace|fjord offload/);
  });

  it("is to look for its address, where no pod has it", () => {
    for (const text of [advice(bare(web, "10.42.0.99"), data), advice(data, bare(web, "10.42.0.99"), wave)])
      assert.match(text, /^no pod of harbor has 10\.42\.0\.99: `kubectl get pods -A -o wide`/);
    assert.match(advice(web, bare(data, "240.0.3.77"), wave), /^no pod of wave has 10\.42\.3\.77/);
  });
});

describe("what is exported, for a guest elsewhere", () => {
  const exported = { range: "252.0.0.0/20", called: "240.77.0.0/20" };
  const withExports = (site: AddressPlan, side: "own" | "peer"): AddressPlan => ({
    ...site,
    spec: { ...site.spec, [side]: [...site.spec[side], exported] },
  });
  const end = (site: string, address: string): PathEnd => ({ title: address, site, address });

  it("by the site where it runs, or another one, is not there, and it says what would be", () => {
    const plans = [
      ...harbor.plans.map((each) => withExports(each, "peer")),
      plan(REEF, "241.8.0.0/16", "240.1.0.0/16"),
    ];
    const here = view(HARBOR, { plans, links: harbor.links });
    for (const guest of [data, { ...data, site: REEF, address: "240.1.3.9" }]) {
      const path = packetPath(here, undefined, guest, end(WAVE, "240.77.0.7"));
      assert.match(drop(path) ?? "", /network: 240\.77\.0\.7 stands for an export of wave to harbor/);
      assert.match(path.advice.join(), /an Export there, which names that site/);
    }
    assert.doesNotMatch(drop(packetPath(here, undefined, web, end(WAVE, "240.77.0.7"))) ?? "", /of wave to harbor/);
  });

  it("by its home is reached over the link", () => {
    const plans = harbor.plans.map((each) => withExports(each, "own"));
    const groups = [{ name: "fjord.dev/exports", local: ["252.0.0.7"], remote: ["240.0.3.9"] }];
    const links = harbor.links.map((each) => ({ ...each, spec: { ...each.spec, groups } }));
    const entry = { name: "db", addresses: ["252.0.0.7"], ports: [] };
    const spec = { sites: ["harbor"], host: { address: "192.168.7.20", ports: [{ port: 5432 }] } } as never;
    const object = { ...newObject(Export, { metadata: { name: "db" }, spec }), status: { entries: [entry] } };
    const path = packetPath(
      view(HARBOR, { plans, links, exports: [object] }),
      undefined,
      data,
      end(HARBOR, "252.0.0.7"),
    );
    assert.equal(drop(path), undefined);
    assert.match(path.hops.at(-1)?.what ?? "", /stands for db/);
  });
});

describe("a guest that uses a word of its home's", () => {
  const home = link(HARBOR, ["10.42.3.9"], ["241.9.0.0/16"]);
  const guests = { addresses: ["10.42.3.9"], names: [{ range: "241.9.0.0/16", called: "10.77.0.0/16" }] };
  const links: Link[] = [{ ...home, spec: { ...home.spec, guests } }];
  const here = view(WAVE, { plans: wave.plans, links });
  const guest: PathEnd = { ...data, site: WAVE, address: "10.42.3.9" };

  it("is led by its node to what that means here", () => {
    const word = meantByGuest(links, "10.42.3.9", "10.77.0.7");
    assert.deepEqual(word, { address: "241.9.0.7", home: HARBOR });
    const to: PathEnd = {
      title: "10.77.0.7",
      site: HARBOR,
      address: "241.9.0.7",
      word: { address: "10.77.0.7", home: HARBOR },
    };
    const path = packetPath(here, undefined, guest, to);
    assert.deepEqual(packets(path).slice(0, 3), ["10.42.3.9 10.77.0.7", "10.42.3.9 241.9.0.7", "10.42.3.9 241.9.0.7"]);
    assert.match(path.hops[1]?.what ?? "", /leads guests of harbor .* 10\.77\.0\.7 becomes 241\.9\.0\.7/);
    assert.notEqual(path.verdict, "Dropped");
  });

  it("is alone in that: the word is none for others, and other addresses are none", () => {
    assert.equal(meantByGuest(links, "10.42.3.10", "10.77.0.7"), undefined);
    assert.equal(meantByGuest(links, "10.42.3.9", "10.78.0.7"), undefined);
    assert.equal(meantByGuest(links, "10.42.3.9", "web"), undefined);
  });
});

describe("machines of the site", () => {
  const stands = MACHINE_ADDRESSES[4];
  const exported = { range: "252.0.0.0/20", called: "240.77.0.0/20" };
  const [base] = harbor.plans;
  const plans = [
    {
      ...(base as AddressPlan),
      spec: { ...(base as AddressPlan).spec, own: [{ range: RANGE, called: "241.9.0.0/16" }, exported] },
    },
  ];
  const known = link(WAVE, [stands], ["240.0.0.0/16"]);
  const here = view(HARBOR, { plans, links: [{ ...known, spec: { ...known.spec, machines: ["192.168.7.0/24"] } }] });
  const machine: PathEnd = { title: "192.168.7.4", site: undefined, address: "192.168.7.4" };

  it("reach pods at providers by the address that stands for all of them", () => {
    const path = packetPath(here, undefined, machine, data);
    assert.equal(path.verdict, "Unknown", "the provider's own list is not seen from here");
    assert.deepEqual(packets(path).slice(0, 2), ["192.168.7.4 240.0.3.9", `${stands} 240.0.3.9`]);
    assert.ok(path.hops.some(({ rule }) => rule?.endsWith("group shop")));
  });

  it("are reached by nobody", () => {
    assert.match(drop(packetPath(here, undefined, data, machine)) ?? "", /nobody reaches them/);
  });

  it("are those that the owner has named, and no others", () => {
    const path = packetPath(here, undefined, { ...machine, address: "192.168.8.4" }, data);
    assert.match(path.hops.at(-1)?.what ?? "", /no link carries it/);
  });
});
