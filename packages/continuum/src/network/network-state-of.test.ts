import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { AddressPlan, Link, newObject, Site } from "@fjord/api";
import { networkState } from "./network-state-of.ts";

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

  it("leaves out what is not agreed, or is going", () => {
    const going = { ...linkOf(b), metadata: { name: b, deletionTimestamp: "2030-01-01T00:00:00Z" } };
    const state = networkState(site, [planOf(a, undefined), planOf(b, "240.1.0.0/16")], [linkOf(a), going]);
    assert.deepEqual(state.peers, []);
  });
});
