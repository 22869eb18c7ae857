import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { AddressPlan, Export, Link, newObject, Site } from "@fjord/api";
import { leadsTo, networkState, sightsOf } from "./network-state-of.ts";

const [a, b] = ["a".repeat(26), "b".repeat(26)];
const publicKey = `${"Ab+/".repeat(10)}Abc=`;
const site = newObject(Site, { metadata: { name: "own" }, spec: { network: {} } });
const planOf = (id: string, called: string | undefined) =>
  newObject(AddressPlan, {
    metadata: { name: id },
    spec: {
      site: id,
      own: [{ range: "10.42.0.0/16", called: "240.7.0.0/16" }],
      peer: [{ range: "10.42.0.0/16", ...(called !== undefined && { called }) }],
    },
  });
const linkOf = (id: string) =>
  newObject(Link, {
    metadata: { name: id },
    spec: {
      site: id,
      publicKey,
      endpoints: ["a:1"],
      groups: [{ name: "shop", local: ["10.42.0.7"], remote: ["240.0.0.1"] }],
    },
  });

describe("what a gateway is to bring about", () => {
  it("is nothing where the owner wants no links", () => {
    const silent = newObject(Site, { metadata: { name: "own" } });
    assert.deepEqual(networkState(silent, [planOf(a, "240.0.0.0/16")], [linkOf(a)]).peers, []);
  });

  it("is all links whose names are known, in order", () => {
    const state = networkState(site, [planOf(b, "240.1.0.0/16"), planOf(a, "240.0.0.0/16")], [linkOf(b), linkOf(a)]);
    assert.deepEqual(
      state.peers.map(({ siteId }) => siteId),
      [a, b],
    );
    assert.deepEqual(state.peers[0], {
      siteId: a,
      own: [{ range: "10.42.0.0/16", called: "240.7.0.0/16" }],
      peer: [{ range: "10.42.0.0/16", called: "240.0.0.0/16" }],
      link: { publicKey, endpoints: ["a:1"] },
      groups: [{ name: "shop", local: ["10.42.0.7"], remote: ["240.0.0.1"] }],
    });
    assert.deepEqual([state.listenPort, state.mtu, state.ranges], [51820, 1380, ["10.42.0.0/16"]]);
  });

  it("lets those peers reach each other that the owner names, by what they are called here", () => {
    const known = (name: string, id: string) => newObject(Site, { metadata: { name }, spec: { id } });
    const relays = [{ between: ["harbor", "wave"] }, { between: ["harbor", "nobody"] }, { between: ["wave", "wave"] }];
    const hub = newObject(Site, { metadata: { name: "own" }, spec: { network: { relays } } });
    const plans = [planOf(b, "240.1.0.0/16"), planOf(a, "240.0.0.0/16")];
    const { peers } = networkState(hub, plans, [linkOf(b), linkOf(a)], [hub, known("harbor", a), known("wave", b)]);
    assert.deepEqual(
      peers.map(({ relayTo }) => relayTo),
      [[b], [a]],
    );
    const others = networkState(hub, plans, [linkOf(b), linkOf(a)], [hub, known("harbor", a)]);
    assert.deepEqual(
      others.peers.map(({ relayTo }) => relayTo),
      [undefined, undefined],
    );
  });

  it("says through whom a peer is reached", () => {
    const link = { ...linkOf(a), spec: { ...linkOf(a).spec, via: b } };
    assert.equal(networkState(site, [planOf(a, "240.0.0.0/16")], [link]).peers[0]?.link.via, b);
  });

  it("says through whom a peer may be reached, and whom this site leads others to", () => {
    const link = { ...linkOf(a), spec: { ...linkOf(a).spec, fallback: { site: b, endpoint: "248.0.0.1:1" } } };
    const [peer] = networkState(site, [planOf(a, "240.0.0.0/16")], [link]).peers;
    assert.deepEqual(peer?.link.fallback, { via: b, endpoint: "248.0.0.1:1" });
    const known = (name: string, id: string) => newObject(Site, { metadata: { name }, spec: { id } });
    const relays = [{ between: ["harbor", "wave"] }];
    const hub = newObject(Site, { metadata: { name: "own" }, spec: { network: { relays } } });
    const sites = [hub, known("harbor", a), known("wave", b)];
    assert.deepEqual(leadsTo(hub, a, sites, [a, b]), [b]);
    assert.deepEqual(leadsTo(hub, a, sites, [a]), [], "without a link it leads nowhere");
    assert.deepEqual(leadsTo(site, a, sites, [a, b]), []);
  });

  it("goes on with what has names, while a range is new to the peer", () => {
    const plan = planOf(a, "240.0.0.0/16");
    plan.spec.own.push({ range: "252.0.0.0/20" });
    const [peer] = networkState(site, [plan], [linkOf(a)]).peers;
    assert.deepEqual(peer?.own, [{ range: "10.42.0.0/16", called: "240.7.0.0/16" }]);
  });

  it("has nothing of a family that no own pod has: a node whose IPv6 is switched off could not have it, nor anything else then", () => {
    const plan = planOf(a, "240.0.0.0/16");
    plan.spec.peer.push({ range: "fd42::/64", called: "fd66:6a6f::/64" });
    const link = linkOf(a);
    link.spec.groups[0]?.remote.push("fd66:6a6f::/64");
    const [peer] = networkState(site, [plan], [link]).peers;
    assert.deepEqual(peer?.peer, [{ range: "10.42.0.0/16", called: "240.0.0.0/16" }]);
    assert.deepEqual(peer?.groups, [{ name: "shop", local: ["10.42.0.7"], remote: ["240.0.0.1"] }]);
  });

  it("has what is exported, each address with what is of its family", () => {
    const spec = { sites: ["wave"], host: { address: "192.0.2.1", ports: [{ port: 1 }] } };
    const backends = [
      { address: "10.42.0.7", port: 80 },
      { address: "fd42::7", port: 80 },
    ];
    const entry = {
      name: "web",
      addresses: ["252.0.0.7", "fd66:6a71::7"],
      ports: [{ protocol: "TCP" as const, port: 80, backends }],
    };
    const object = { ...newObject(Export, { metadata: { name: "web" }, spec }), status: { entries: [entry] } };
    const { exports = [] } = networkState(site, [], [], [], [object]);
    assert.deepEqual(
      exports.map(({ address, masquerade, ports }) => [address, masquerade, ports[0]?.backends]),
      [
        ["252.0.0.7", false, [backends[0]]],
        ["fd66:6a71::7", false, [backends[1]]],
      ],
    );
  });

  it("leads where a hub sees a peer, and to the own agent, where the Link says so", () => {
    const fallback = { site: b, endpoint: "248.0.0.1:51820", seenAt: "203.0.113.9:40000" };
    const link = linkOf(a);
    const more = { ...link, spec: { ...link.spec, fallback, tcp: { endpoint: "10.42.0.9:41000" } } };
    const [peer] = networkState(site, [planOf(a, "240.0.0.0/16")], [more]).peers;
    const { site: via, ...rest } = fallback;
    assert.deepEqual(peer?.link.fallback, { via, ...rest });
    assert.equal(peer?.link.tcp, "10.42.0.9:41000");
  });

  it("sees those that it meets directly, and tells only those that it leads to them", () => {
    const seen = (id: string, status: object) => ({
      ...linkOf(id),
      status: { endpoint: "203.0.113.9:40000", way: "Direct" as const, conditions: ready, ...status },
    });
    const ready = [
      {
        type: "Ready" as const,
        status: "True" as const,
        reason: "HandshakeSeen" as const,
        message: "",
        lastTransitionTime: "",
      },
    ];
    assert.deepEqual(sightsOf([a, b], [seen(a, {})]), [{ site: a, endpoint: "203.0.113.9:40000" }]);
    assert.deepEqual(sightsOf([b], [seen(a, {})]), []);
    for (const other of [{ way: "TCP" }, { way: "Hub" }, { conditions: [] }, { endpoint: "127.0.0.1:1" }])
      assert.deepEqual(sightsOf([a], [seen(a, other)]), [], JSON.stringify(other));
  });

  it("leaves out what is not agreed, or is going", () => {
    const going = { ...linkOf(b), metadata: { name: b, deletionTimestamp: "2030-01-01T00:00:00Z" } };
    const state = networkState(site, [planOf(a, undefined), planOf(b, "240.1.0.0/16")], [linkOf(a), going]);
    assert.deepEqual(state.peers, []);
  });

  it("has lanes as the owner wants, to each peer as its Link says, and knows which are silent", () => {
    const own = { ...site, spec: { ...site.spec, network: { ...site.spec.network, lanes: 3 } } } as typeof site;
    const link = linkOf(a);
    const laned = {
      ...link,
      spec: { ...link.spec, lanes: [{ endpoints: ["a:2"] }] },
      status: { lanes: [{ lane: 1, silent: true }] },
    } as typeof link;
    const plans = [planOf(a, "240.0.0.0/16"), planOf(b, "240.1.0.0/16")];
    const state = networkState(own, plans, [laned, linkOf(b)]);
    assert.equal(state.parallel, 3);
    assert.deepEqual(
      state.peers.map((peer) => [peer.link.lanes, peer.link.silent]),
      [
        [[["a:2"]], [1]],
        [[], undefined],
      ],
    );
    assert.equal(networkState(site, plans, [link]).parallel, undefined);
  });
});
