import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { linkAddress, relayAddress } from "../link-address.ts";
import type { NetworkState, PeerNetwork } from "../network-state.ts";
import { InvalidNetworkState } from "./errors.ts";
import { type Fabric, fabricOf, isNested } from "./fabric.ts";
import { testKey, testPeer, testState } from "./test-state.ts";

const options = { interfacePrefix: "fjord" };
const fabric = (state: NetworkState, before?: Fabric) => fabricOf(state, options, before);
const withPeer = (change: Partial<PeerNetwork>): NetworkState => ({
  ...testState(0),
  peers: [{ ...testPeer(0), ...change }, testPeer(1)],
});
const elements = ({ peers }: Fabric, set: string, siteId = "peer0") => [
  ...(peers.get(siteId)?.rules.elements.get(set) ?? []),
];
const chain = ({ peers }: Fabric, name: string, siteId = "peer0") => peers.get(siteId)?.rules.chains.get(name);

describe("What a state asks of a node", () => {
  const renamed = {
    own: [
      { range: "10.42.0.0/16", called: "240.7.0.0/16" },
      { range: "fd42::/64", called: "fd66:6a6f:0:9::/64" },
    ],
    peer: [
      { range: "10.42.0.0/16", called: "240.0.0.0/16" },
      { range: "fd42::/64", called: "fd66:6a6f::/64" },
    ],
  };

  it("names own addresses to a peer as it calls them, and back", () => {
    const made = fabric(
      withPeer({
        ...renamed,
        groups: [{ name: "shop", local: ["10.42.1.2", "fd42::7"], remote: ["240.0.1.1", "fd66:6a6f::1"] }],
      }),
    );
    assert.deepEqual(elements(made, "leaving4"), [["10.42.1.2 . 1", ": 240.7.1.2"]]);
    assert.deepEqual(elements(made, "arriving4"), [["240.7.1.2 . 1", ": 10.42.1.2"]]);
    assert.deepEqual(elements(made, "leaving6"), [["fd42::7 . 1", ": fd66:6a6f:0:9::7"]]);
    assert.deepEqual(elements(made, "arriving6"), [["fd66:6a6f:0:9::7 . 1", ": fd42::7"]]);
    assert.deepEqual([...(made.peers.get("peer0")?.rules.chains.keys() ?? [])], [], "and has no chain of its own");
    assert.deepEqual(made.peers.get("peer0")?.ranges, ["240.0.0.0/16", "fd66:6a6f::/64"]);
  });

  it("names ranges that are let through as such by prefix", () => {
    const groups = [{ name: "open", local: ["10.42.2.0/24", "fd42::/64"], remote: ["240.0.0.0/16", "fd66:6a6f::1"] }];
    const made = fabric(withPeer({ ...renamed, groups }));
    assert.deepEqual(chain(made, "out-peer0"), [
      "ip saddr 10.42.0.0/16 ip saddr set ip saddr & 0.0.255.255 | 240.7.0.0 return",
      "ip6 saddr fd42::/64 ip6 saddr set ip6 saddr & ::ffff:ffff:ffff:ffff | fd66:6a6f:0:9:: return",
    ]);
    assert.deepEqual(chain(made, "in-peer0"), [
      "ip daddr 240.7.0.0/16 ip daddr set ip daddr & 0.0.255.255 | 10.42.0.0 return",
      "ip6 daddr fd66:6a6f:0:9::/64 ip6 daddr set ip6 daddr & ::ffff:ffff:ffff:ffff | fd42:: return",
    ]);
    assert.deepEqual(elements(made, "in4-16"), [["240.0.0.0", ": jump in-peer0"]]);
    assert.deepEqual(elements(made, "out6-64"), [["fd66:6a6f::", ": jump out-peer0"]]);
  });

  it("translates nothing where name and range are the same", () => {
    const same = { range: "10.42.0.0/16", called: "10.42.0.0/16" };
    const made = fabric(withPeer({ own: [same] }));
    assert.deepEqual(elements(made, "leaving4")[0], ["10.42.1.0 . 1", ": 10.42.1.0"]);
    const open = fabric(
      withPeer({ own: [same], groups: [{ name: "open", local: ["10.42.0.0/16"], remote: ["240.0.0.5"] }] }),
    );
    assert.deepEqual([...(open.peers.get("peer0")?.rules.chains.keys() ?? [])], ["open-peer0"]);
    assert.deepEqual(elements(open, "in4-16"), []);
  });

  it("lets through the addresses of a group by its number, which no other peer's has", () => {
    const made = fabric(testState(2));
    const [[, first] = [], [, second] = []] = [elements(made, "group4")[0], elements(made, "group4", "peer1")[0]];
    assert.notEqual(first, second);
    assert.deepEqual(elements(made, "leaving4")[0], [`10.42.1.0 . ${first?.slice(2)}`, ": 240.0.1.0"]);
    assert.equal(elements(made, "leaving4").length, 10);
    assert.equal(elements(made, "arriving4").length, 10);
  });

  it("looks a peer's whole range up as it does an address", () => {
    const made = fabric(
      withPeer({
        groups: [
          { name: "shop", local: ["10.42.1.1"], remote: ["240.0.0.0/16"] },
          { name: "bank", local: ["10.42.1.2"], remote: ["240.0.0.0/16"] },
        ],
      }),
    );
    const [[prefix, number] = []] = elements(made, "range4-16");
    assert.equal(prefix, "240.0.0.0");
    assert.deepEqual(
      elements(made, "leaving4").map(([key]) => key),
      [`10.42.1.1 . ${number?.slice(2)}`, `10.42.1.2 . ${number?.slice(2)}`],
    );
    assert.equal(chain(made, "open-peer0"), undefined);
  });

  it("gives rules of their own to local ranges, and to what is in several groups", () => {
    const made = fabric(
      withPeer({
        groups: [
          { name: "shop", local: ["10.42.1.1"], remote: ["240.0.0.5"] },
          { name: "bank", local: ["10.42.1.2", "10.42.2.0/24", "10.42.2.7"], remote: ["240.0.0.5", "240.0.0.6"] },
        ],
      }),
    );
    assert.deepEqual(
      elements(made, "group4").map(([key]) => key),
      ["240.0.0.5", "240.0.0.6"],
    );
    const mark = "meta mark set 4294967295 return";
    assert.deepEqual(chain(made, "open-peer0"), [
      `ip saddr { 240.0.0.5 } ip daddr { 10.42.1.2, 10.42.2.7 } ${mark}`,
      `ip saddr { 10.42.1.2, 10.42.2.7 } ip daddr { 240.0.0.5 } ${mark}`,
      `ip saddr { 240.0.0.5, 240.0.0.6 } ip daddr { 10.42.2.0/24 } ${mark}`,
      `ip saddr { 10.42.2.0/24 } ip daddr { 240.0.0.5, 240.0.0.6 } ${mark}`,
    ]);
    assert.deepEqual(elements(made, "open4-16"), [["240.0.0.0", ": jump open-peer0"]]);
  });

  it("opens nothing for a group without a side", () => {
    const made = fabric(withPeer({ groups: [{ name: "shop", local: [], remote: ["240.0.0.0/16", "240.0.0.5"] }] }));
    for (const set of ["group4", "arriving4", "leaving4", "range4-16", "open4-16"])
      assert.deepEqual(elements(made, set), [], set);
    assert.equal(chain(made, "open-peer0"), undefined);
  });

  it("keeps families apart", () => {
    const made = fabric(
      withPeer({
        peer: [
          { range: "10.42.0.0/16", called: "240.0.0.0/16" },
          { range: "fd42::/64", called: "fd66::/64" },
        ],
        groups: [{ name: "shop", local: ["10.42.1.1", "fd42::1"], remote: ["fd66::5"] }],
      }),
    );
    assert.deepEqual(elements(made, "leaving4"), []);
    assert.equal(elements(made, "leaving6").length, 1);
  });

  const wrong: Readonly<Record<string, readonly [Partial<PeerNetwork>, RegExp]>> = {
    "a remote address that is not the peer's": [
      { groups: [{ name: "shop", local: ["10.42.0.1"], remote: ["240.1.0.5"] }] },
      /240\.1\.0\.5 of group "shop" is outside/,
    ],
    "names of another size": [{ own: [{ range: "10.42.0.0/16", called: "240.0.0.0/17" }] }, /not of one size/],
    "names of another family": [{ own: [{ range: "10.42.0.0/16", called: "fd00::/16" }] }, /not of one size/],
    "the whole world as its range": [{ peer: [{ range: "0.0.0.0/0", called: "0.0.0.0/0" }] }, /everything/],
    "rules in the place of an address": [
      { groups: [{ name: "shop", local: ["10.42.0.1 } ; flush ruleset"], remote: [] }] },
      /not a range/,
    ],
    "no key": [{ link: { publicKey: "AAAA", endpoints: [] } }, /not a public key/],
    "a line break in its endpoint": [
      { link: { publicKey: testKey(0), endpoints: ["192.0.2.1:1\nprivate_key=00"] } },
      /not HOST:PORT/,
    ],
    "a port that is none": [{ link: { publicKey: testKey(0), endpoints: ["192.0.2.1:70000"] } }, /not HOST:PORT/],
    "an own range as its name": [
      { peer: [{ range: "10.0.0.0/8", called: "10.0.0.0/8" }], groups: [] },
      /overlaps .* this site/,
    ],
    "a rule in its id": [{ siteId: "x { drop }" }, /not the id/],
    "an endless time to keep alive": [
      { link: { publicKey: testKey(0), endpoints: [], keepaliveSeconds: Number.NaN } },
      /no number of seconds/,
    ],
    "no groups at all": [{ groups: undefined as unknown as [] }, /TypeError/],
  };
  for (const [what, [change, reason]] of Object.entries(wrong)) {
    it(`leaves out a peer that has ${what}, and no other`, () => {
      const made = fabric(withPeer(change));
      assert.deepEqual([...made.peers.keys()], ["peer1"]);
      assert.match([...made.faults.values()].join(), reason);
    });
  }

  it("leaves out who has another peer's range or key, whichever is the wider one", () => {
    const wide = fabric({
      ...testState(0),
      peers: [
        testPeer(0),
        testPeer(1),
        { ...testPeer(2), peer: [{ range: "10.0.0.0/8", called: "240.0.0.0/8" }], groups: [] },
      ],
    });
    assert.deepEqual([...wide.peers.keys()], ["peer0", "peer1"]);
    const narrow = fabric({
      ...testState(0),
      peers: [testPeer(0), { ...testPeer(1), peer: [{ range: "10.1.1.0/24", called: "240.0.1.0/24" }], groups: [] }],
    });
    assert.deepEqual([...narrow.faults], [["peer1", "240.0.1.0/24 overlaps with 240.0.0.0/16 of peer0"]]);
    const key = fabric({ ...testState(0), peers: [testPeer(0), { ...testPeer(1), link: testPeer(0).link }] });
    assert.deepEqual([...key.faults], [["peer1", "site peer0 has the same key"]]);
  });

  it("leaves out who comes, or changes, with another peer's range or key, and no other", () => {
    const before = fabric(testState(3));
    const after = (...peers: PeerNetwork[]) => fabric({ ...testState(0), peers }, before);
    const [one, two, three] = [testPeer(0), testPeer(1), testPeer(2)];
    const range = "240.1.1.0/24";
    const inside = { ...testPeer(3), peer: [{ range, called: range }], groups: [] };
    assert.deepEqual([...after(one, two, three, inside).faults.keys()], ["peer3"]);
    const rekeyed = { ...three, link: { ...three.link, publicKey: testKey(0) } };
    assert.deepEqual([...after(one, two, rekeyed).faults], [["peer2", "site peer0 has the same key"]]);
    const moved = { ...three, peer: [{ range, called: "10.42.7.0/24" }], groups: [] };
    assert.match(after(one, two, moved).faults.get("peer2") ?? "", /of this site/);
    const twice = { ...three, peer: [...three.peer, ...three.peer] };
    assert.match(after(one, two, twice).faults.get("peer2") ?? "", /overlaps/);
    assert.deepEqual([...after(one, two, three, testPeer(3)).faults], []);
  });

  const through = (hub: string, more: Partial<NetworkState> = { siteId: "own" }): NetworkState => ({
    ...testState(3, (peer) => (peer.siteId === "peer2" ? { ...peer, link: { ...peer.link, via: hub } } : peer)),
    ...more,
  });

  it("takes the address of a peer behind a hub from that hub, and from nobody else", () => {
    const made = fabric(through("peer0"));
    const gateways = (site: string) => made.peers.get(site)?.gateways;
    assert.deepEqual(gateways("peer0"), [linkAddress("peer0"), relayAddress("peer2")]);
    assert.deepEqual(gateways("peer1"), [linkAddress("peer1")]);
    assert.deepEqual(gateways("peer2"), [linkAddress("peer2")]);
    assert.deepEqual(elements(made, "behind", "peer2"), [[relayAddress("peer2"), ""]]);
    assert.deepEqual(elements(made, "behind"), []);
    assert.equal(fabric(testState(3)).table.sets.has("behind"), false, "and has no rules for it where nobody is");
  });

  it("looks at a hub again when somebody comes behind it, or is no longer", () => {
    const [before, after] = [fabric(testState(3)), fabric(through("peer0"), fabric(testState(3)))];
    assert.notEqual(after.peers.get("peer0"), before.peers.get("peer0"));
    assert.deepEqual(fabric(testState(3), after).peers.get("peer0")?.gateways, [linkAddress("peer0")]);
  });

  it("lets two peers reach each other through here where both are named, and no others", () => {
    const made = fabric({
      ...testState(3, (peer) =>
        peer.siteId === "peer1" ? peer : { ...peer, relayTo: [peer.siteId === "peer0" ? "peer2" : "peer0"] },
      ),
      siteId: "own",
    });
    const [one, other] = [relayAddress("peer0"), relayAddress("peer2")];
    assert.deepEqual(elements(made, "relays"), [[`${one} . ${other}`, ""]]);
    assert.deepEqual(elements(made, "relays", "peer2"), [[`${other} . ${one}`, ""]]);
    assert.deepEqual(elements(made, "relays", "peer1"), []);
    assert.deepEqual(made.peers.get("peer1")?.gateways, [linkAddress("peer1")]);
  });

  it("gives the address of a peer behind hubs to one peer alone, where the site is a hub itself", () => {
    const all = ["peer0", "peer1", "peer2"];
    const hubItself = (state: NetworkState, named = all): NetworkState => ({
      ...state,
      peers: state.peers.map((peer) =>
        named.includes(peer.siteId) ? { ...peer, relayTo: named.filter((each) => each !== peer.siteId) } : peer,
      ),
    });
    const gateways = ({ peers }: Fabric) => all.map((site) => peers.get(site)?.gateways.slice(1));
    const [zero, one, two] = all.map(relayAddress) as [string, string, string];
    const met = fabric(hubItself(through("peer0")));
    assert.deepEqual(gateways(met), [[zero, two], [one], []], "it leads nobody to whom it meets through another");
    assert.deepEqual(elements(met, "relays", "peer1"), [[`${one} . ${zero}`, ""]]);
    assert.deepEqual(elements(met, "relays", "peer2"), []);
    const pair = fabric(hubItself(withFallback("peer0"), ["peer0", "peer2"]));
    assert.deepEqual(gateways(pair), [[two], [], []], "a peer and its hub have a link with each other");
    const led = fabric(hubItself(withFallback("peer0")));
    assert.deepEqual(gateways(led), [[zero], [one], [two]], "whom it leads others to has no way through a hub");
    assert.equal(led.peers.get("peer2")?.checked.fallback, undefined);
  });

  it("leaves nobody out whom it meets for another one that has the same address behind hubs", () => {
    const seen = new Map<string, string>();
    let [one, other]: [string?, string?] = [];
    for (let i = 0; other === undefined; i++) {
      one = seen.get(relayAddress(`site${i}`));
      if (one !== undefined) other = `site${i}`;
      seen.set(relayAddress(`site${i}`), `site${i}`);
    }
    const [first = "", last = ""] = [one ?? "", other].sort();
    const state = (more: (siteId: string) => Partial<PeerNetwork>): NetworkState => ({
      ...testState(3, (peer) => {
        const siteId = { peer0: first, peer1: "middle", peer2: last }[peer.siteId] ?? "";
        return { ...peer, siteId, ...more(siteId) };
      }),
      siteId: "own",
    });
    const claimed = fabric(
      state((siteId) => {
        if (siteId === first) return { link: { ...testPeer(0).link, via: "middle" } };
        return { relayTo: [siteId === last ? "middle" : last] };
      }),
    );
    assert.deepEqual([[...claimed.faults.keys()], [...claimed.peers.keys()]], [[first], ["middle", last]]);
    assert.deepEqual(claimed.peers.get("middle")?.gateways, [linkAddress("middle"), relayAddress("middle")]);
    const both = fabric(
      state((siteId) =>
        siteId === "middle" ? {} : { link: { ...testPeer(siteId === first ? 0 : 2).link, via: "middle" } },
      ),
    );
    assert.deepEqual([...both.faults.keys()], [last]);
    assert.deepEqual(both.peers.get("middle")?.gateways, [linkAddress("middle"), relayAddress(first)]);
    const relays = [[`${relayAddress(last)} . ${relayAddress("middle")}`, ""]];
    assert.deepEqual(elements(claimed, "relays", last), relays);
    const all = [first, "middle", last];
    const led = fabric(state((siteId) => ({ relayTo: all.filter((each) => each !== siteId) })));
    assert.deepEqual([[...led.faults.keys()], [...led.peers.keys()]], [[], all]);
    assert.deepEqual(elements(led, "relays", last), []);
    assert.equal(elements(led, "relays", "middle").length, 1);
  });

  it("leaves out who is behind a hub that leads nowhere", () => {
    const faultOf = (state: NetworkState) => fabric(state).faults.get("peer2");
    assert.equal(faultOf(through("peer0")), undefined);
    assert.match(faultOf(through("nobody")) ?? "", /no link with site nobody/);
    assert.match(faultOf(through("peer2")) ?? "", /is itself behind another one/);
    assert.match(faultOf(through("peer0", {})) ?? "", /own id is not known/);
    assert.match(faultOf(through("../x")) ?? "", /is not the id of a site/);
  });

  it("is nested where a link may go through another one, and not where somebody names a hub that leads nowhere", () => {
    assert.deepEqual(
      [
        testState(3),
        through("peer0"),
        withFallback("peer0"),
        through("nobody"),
        withFallback("nobody"),
        through("peer2"),
      ].map(isNested),
      [false, true, true, false, false, false],
    );
  });

  const withFallback = (via: string, more: Partial<NetworkState> = { siteId: "own" }): NetworkState => ({
    ...testState(3, (peer) =>
      peer.siteId === "peer2"
        ? { ...peer, link: { ...peer.link, fallback: { via, endpoint: `${relayAddress("peer2")}:1` } } }
        : peer,
    ),
    ...more,
  });

  it("takes the address of a peer that may be behind a hub from that hub, and sends it what fits there", () => {
    const made = fabric(withFallback("peer0"));
    assert.deepEqual(made.peers.get("peer0")?.gateways, [linkAddress("peer0"), relayAddress("peer2")]);
    assert.deepEqual(elements(made, "behind", "peer2"), [[relayAddress("peer2"), ""]]);
    assert.equal(made.peers.get("peer2")?.mtu, 1312);
    assert.equal(made.relayAddress, relayAddress("own"));
  });

  it("has no other way to a peer where a hub leads nowhere, and goes on without it", () => {
    for (const state of [withFallback("nobody"), withFallback("peer2"), withFallback("peer0", {})]) {
      const made = fabric(state);
      assert.deepEqual([made.peers.size, made.faults.size, made.table.sets.has("behind")], [3, 0, false]);
      assert.equal(made.peers.get("peer2")?.checked.fallback, undefined);
    }
  });

  it("leaves out a stranger that claims another peer's key or address behind hubs, though its id comes first", () => {
    const victim = { ...testPeer(1), siteId: "victim" };
    const stranger = { ...testPeer(0), introduced: true, link: { ...testPeer(0).link, publicKey: testKey(1) } };
    const made = fabric({ ...testState(0), peers: [stranger, victim] });
    assert.deepEqual(
      [[...made.peers.keys()], [...made.faults]],
      [["victim"], [["peer0", "site victim has the same key"]]],
    );
    const known = fabric({ ...testState(0), peers: [{ ...stranger, introduced: false }, victim] });
    assert.deepEqual([...known.peers.keys()], ["peer0"]);
    const overlapping = { ...testPeer(0), introduced: true, peer: victim.peer, groups: [] };
    assert.deepEqual([...fabric({ ...testState(0), peers: [overlapping, victim] }).peers.keys()], ["victim"]);
  });

  it("refuses a state that cannot be", () => {
    for (const change of [
      { listenPort: 0 },
      { listenPort: 65_535, parallel: 2 },
      { mtu: 100 },
      { ranges: ["10.42.0.1/16"] },
      { parallel: 0 },
      { parallel: 9 },
      { parallel: 2, carried: [2] },
    ])
      assert.throws(() => fabric({ ...testState(1), ...change }), InvalidNetworkState);
  });

  it("takes over what has not changed, and keeps numbers of groups", () => {
    const before = fabric(testState(3));
    const next = fabric(
      testState(3, (peer) =>
        peer.siteId === "peer1"
          ? { ...peer, groups: [...peer.groups, { name: "bank", local: ["10.42.3.3"], remote: ["240.1.3.3"] }] }
          : peer,
      ),
      before,
    );
    assert.equal(next.peers.get("peer0"), before.peers.get("peer0"));
    assert.equal(next.table, before.table);
    assert.equal(
      next.peers.get("peer1")?.numbers.get("group shop"),
      before.peers.get("peer1")?.numbers.get("group shop"),
    );
    assert.equal(next.peers.get("peer1")?.numbers.get("group bank"), before.nextNumber);
  });

  it("is computed for what has changed alone: values of other peers are not read again", () => {
    let reads = 0;
    const counted = (peer: PeerNetwork): PeerNetwork => {
      const { groups, ...rest } = peer;
      return Object.defineProperty(rest, "groups", {
        enumerable: true,
        get: () => {
          reads++;
          return groups;
        },
      }) as PeerNetwork;
    };
    const state = testState(50, counted);
    const before = fabricOf(state, { interfacePrefix: "fjord" });
    reads = 0;
    const [first, ...others] = state.peers;
    const changed = { ...testPeer(0), mtu: 1300 };
    const after = fabricOf({ ...state, peers: [changed, ...others] }, { interfacePrefix: "fjord" }, before);
    assert.equal(reads, 0);
    assert.notEqual(after.peers.get(first?.siteId ?? ""), before.peers.get(first?.siteId ?? ""));
    assert.equal(after.peers.get("peer7"), before.peers.get("peer7"));
    // Equal ones that are other objects are read, and are the same all the same.
    const again = fabricOf(testState(50), { interfacePrefix: "fjord" }, before);
    assert.equal(again.peers.get("peer7"), before.peers.get("peer7"));
  });
});
