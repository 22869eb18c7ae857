import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { backstop } from "./route-change.ts";
import { type Hop, type WayState, wayFirewall, wayOf } from "./way.ts";

const state: WayState = {
  own: ["10.42.0.0/16", "fd42::/64"],
  ranges: ["240.0.0.0/16", "fd66:6a6f::/64"],
  gateway: ["192.0.2.7", "2001:db8::7"],
  nodes: [],
  mtu: 1380,
};
const hop = (address: string, isNeighbour = true): Hop => ({ address, device: "eth0", isNeighbour });
const way = (hops: readonly Hop[], change: Partial<WayState> = {}) => wayOf({ ...state, ...change }, hops, "fjordx");

describe("A node's way to the gateway", () => {
  it("is a route to a neighbour, by family", () => {
    const { routes, tunnel } = way([hop("192.0.2.7"), hop("2001:db8::7")]);
    assert.deepEqual(
      [...routes],
      [
        ["240.0.0.0/16", "via 192.0.2.7 dev eth0"],
        ["fd66:6a6f::/64", "via 2001:db8::7 dev eth0"],
        [backstop("240.0.0.0/16"), ""],
        [backstop("fd66:6a6f::/64"), ""],
      ],
    );
    assert.equal(tunnel, false);
  });

  it("is a tunnel where routers are in between, or where the gateway has no address of the family", () => {
    assert.deepEqual(
      [...way([hop("192.0.2.7", false)]).routes.values()].filter((each) => each !== ""),
      ["encap ip id 7443 dst 192.0.2.7 dev fjordx", "encap ip id 7443 dst 192.0.2.7 dev fjordx"],
    );
    const mixed = way([hop("192.0.2.7")]);
    assert.equal(mixed.routes.get("240.0.0.0/16"), "via 192.0.2.7 dev eth0");
    assert.equal(mixed.routes.get("fd66:6a6f::/64"), "encap ip id 7443 dst 192.0.2.7 dev fjordx");
    assert.equal(mixed.tunnel, true);
    assert.match(way([hop("2001:db8::7", false)]).routes.get("240.0.0.0/16") ?? "", /^encap ip6 /);
  });

  it("keeps the addresses of pods on it, both ways", () => {
    const text = wayFirewall(way([hop("192.0.2.7")]));
    assert.match(text, /ip saddr { 10\.42\.0\.0\/16 } ip daddr { 240\.0\.0\.0\/16 } snat ip to ip saddr/);
    assert.match(text, /ip6 saddr { fd66:6a6f::\/64 } ip6 daddr { fd42::\/64 } snat ip6 to ip6 saddr/);
  });

  it("leads, beside its links, to who takes over: by routes of their own, with the pods' own addresses", () => {
    const carries = { ...state, gateway: [], nodes: ["192.0.2.8"], heir: ["192.0.2.8"] };
    const { routes, heirRoutes, chains } = wayOf(carries, [], "fjordx", [], [hop("192.0.2.8")]);
    assert.deepEqual([...routes.values()], ["", ""], "not by those that are asked after links");
    assert.deepEqual(
      [...heirRoutes],
      [
        ["240.0.0.0/16", "via 192.0.2.8 dev eth0"],
        ["fd66:6a6f::/64", "encap ip id 7443 dst 192.0.2.8 dev fjordx"],
      ],
    );
    assert.ok(chains.has("keep"));
    assert.equal(way([hop("192.0.2.7")]).heirRoutes.size, 0);
  });

  it("takes nothing out of a tunnel but at the gateway, from the other nodes", () => {
    const { chains } = way([hop("192.0.2.7", false)]);
    assert.deepEqual(chains.get("guard")?.slice(1), ["udp dport 7444 drop"]);
    const gateway = way([], { gateway: [], nodes: ["192.0.2.8", "2001:db8::8"] });
    assert.deepEqual(gateway.chains.get("guard")?.slice(1), [
      "udp dport 7444 ip saddr { 192.0.2.8 } accept",
      "udp dport 7444 ip6 saddr { 2001:db8::8 } accept",
      "udp dport 7444 drop",
    ]);
    assert.deepEqual([gateway.tunnel, gateway.routes.size, gateway.chains.has("keep")], [true, 2, false]);
  });

  it("leads what comes out of a tunnel to links alone", () => {
    const gateway = way([], { gateway: [], nodes: ["192.0.2.8"] });
    assert.deepEqual(gateway.chains.get("tunnelled")?.slice(1), [
      'iifname "fjordx" ip saddr { 10.42.0.0/16 } ip daddr { 240.0.0.0/16 } accept',
      'iifname "fjordx" ip6 saddr { fd42::/64 } ip6 daddr { fd66:6a6f::/64 } accept',
      'iifname "fjordx" drop',
    ]);
    const follower = way([hop("192.0.2.7", false)]);
    assert.deepEqual(follower.chains.get("tunnelled")?.slice(1), ['iifname "fjordx" drop']);
  });

  it("is nothing where nobody is the gateway, or where it cannot be reached, and no other way is taken", () => {
    const nothing = way([], { gateway: [] });
    assert.deepEqual(
      [...nothing.routes],
      state.ranges.map((range) => [backstop(range), ""]),
    );
    assert.deepEqual([nothing.tunnel, nothing.chains.size], [false, 0]);
    assert.equal(wayFirewall(nothing), "table inet fjord-way\ndelete table inet fjord-way\n");
  });

  describe("where links have several lanes", () => {
    const peers = [
      { siteId: "m", ranges: ["240.0.0.0/16"], lanes: 3, silent: [] },
      { siteId: "n", ranges: ["240.1.0.0/16"], lanes: 1, silent: [] },
    ];
    const lanes = { siteId: "a", gateways: [["192.0.2.8"], ["192.0.2.7"]], peers, isChosen: true };
    const laned = { ranges: ["240.0.0.0/16", "240.1.0.0/16"], lanes };
    const all = (hops: readonly Hop[], ofLanes: readonly (readonly Hop[])[], change: Partial<WayState> = {}) =>
      wayOf({ ...state, ...laned, ...change }, hops, "fjordx", ofLanes);

    it("is for each by a table of its own to the node that carries it, for peers that have that lane", () => {
      const { routes } = all([hop("192.0.2.7")], [[hop("192.0.2.8")], [hop("192.0.2.7")]]);
      assert.deepEqual(
        [...routes].filter(([, to]) => to !== ""),
        [
          ["240.0.0.0/16", "via 192.0.2.7 dev eth0"],
          ["240.1.0.0/16", "via 192.0.2.7 dev eth0"],
          ["240.0.0.0/16 table 7431", "via 192.0.2.8 dev eth0"],
          ["240.0.0.0/16 table 7432", "via 192.0.2.7 dev eth0"],
        ],
      );
    });

    it("is none for a lane that nobody carries, or this node: it falls to what comes next", () => {
      const { routes } = all([hop("192.0.2.7")], [[], [hop("192.0.2.7", false)]]);
      assert.equal(routes.has("240.0.0.0/16 table 7431"), false);
      assert.equal(routes.get("240.0.0.0/16 table 7432"), "encap ip id 7443 dst 192.0.2.7 dev fjordx");
    });

    it("is for a node with the first lane, too, to those that have the others, with addresses of pods kept", () => {
      const { routes, chains, tunnel } = all([], [[hop("192.0.2.8", false)], []], {
        gateway: [],
        nodes: ["192.0.2.8"],
      });
      assert.deepEqual(
        [...routes.keys()].filter((key) => !key.startsWith("unreachable")),
        ["240.0.0.0/16 table 7431"],
      );
      assert.ok(tunnel && chains.has("keep"));
    });

    it("is chosen there, unless links have a firewall there that does", () => {
      assert.ok(all([hop("192.0.2.7")], []).chains.has("choose"));
      assert.ok(!all([hop("192.0.2.7")], [], { lanes: { ...lanes, isChosen: false } }).chains.has("choose"));
    });
  });
});
