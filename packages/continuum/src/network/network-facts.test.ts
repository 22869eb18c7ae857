import assert from "node:assert/strict";
import { describe, it } from "node:test";
import fc from "fast-check";
import { checkNetworkFacts } from "./network-facts.ts";

const good = {
  publicKey: `${"Ab+/".repeat(10)}Abc=`,
  endpoints: ["wave.example:51820", "[2001:db8::1]:65535", "10.0.0.1:1"],
  ranges: ["10.42.0.0/16", "fd00:42::/56"],
  names: [{ range: "10.42.0.0/16", called: "240.0.0.0/16" }],
};

describe("what a peer says of its network", () => {
  it("is taken where all of it is well, and nothing else of it", () => {
    assert.deepEqual(checkNetworkFacts(good), good);
    assert.deepEqual(checkNetworkFacts({ ...good, more: 1 }), good);
    assert.deepEqual(checkNetworkFacts({ ...good, endpoints: [], names: [] }), { ...good, endpoints: [], names: [] });
  });

  it("may have a hub in it", () => {
    const relay = { hub: "a".repeat(26), port: 51820 };
    assert.deepEqual(checkNetworkFacts({ ...good, relay: { ...relay, more: 1 } }), { ...good, relay });
  });

  it("may have a hub for bad times in it, and whom it leads others to", () => {
    const more = { fallback: { hub: "a".repeat(26), port: 51820 }, leadsTo: ["b".repeat(26)] };
    assert.deepEqual(checkNetworkFacts({ ...good, ...more }), { ...good, ...more });
  });

  it("may say where it sees others, and that its agent carries packets", () => {
    const more = { sights: [{ site: "b".repeat(26), endpoint: "203.0.113.9:40000" }], tcp: true };
    assert.deepEqual(checkNetworkFacts({ ...good, ...more }), { ...good, ...more });
  });

  it("may have exports in it, of its own addresses", () => {
    const ports = [{ name: "sql", protocol: "TCP", port: 5432 }];
    const exports = [{ name: "shop/db", addresses: ["10.42.0.7", "fd00:42::7"], ports }];
    assert.deepEqual(checkNetworkFacts({ ...good, exports: [{ ...exports[0], more: 1 }] }), { ...good, exports });
    assert.deepEqual(checkNetworkFacts({ ...good, exports: [] }), good);
  });

  it("is written in one way", () => {
    assert.deepEqual(checkNetworkFacts({ ...good, ranges: ["10.42.3.4/16", "FD00:42:0::/56"] })?.ranges, good.ranges);
  });

  const wrong: Record<string, object> = {
    "no key": { publicKey: undefined },
    "a key that is none": { publicKey: "x".repeat(44) },
    "no ranges": { ranges: [] },
    "a range in words": { ranges: ["everything"] },
    everything: { ranges: ["0.0.0.0/0"] },
    "a range that is too wide": { ranges: ["10.0.0.0/8"] },
    "a range of IPv6 that is too wide": { ranges: ["fd00::/32"] },
    loopback: { ranges: ["127.88.0.0/16"] },
    "link-local": { ranges: ["169.254.0.0/16"] },
    multicast: { ranges: ["224.0.0.0/16"] },
    "multicast of IPv6": { ranges: ["ff02::/64"] },
    "IPv4 in the words of IPv6": { ranges: ["::ffff:10.42.0.0/112"] },
    "ranges that overlap": { ranges: ["10.42.0.0/16", "10.42.7.0/24"] },
    "too many ranges": { ranges: Array.from({ length: 17 }, (_, at) => `10.${at}.0.0/16`) },
    "a name of another size": { names: [{ range: "10.42.0.0/16", called: "240.0.0.0/24" }] },
    "a name of another family": { names: [{ range: "10.42.0.0/16", called: "fd00::/112" }] },
    "a name on loopback": { names: [{ range: "10.42.0.0/16", called: "127.0.0.0/16" }] },
    "two names for one range": {
      names: [good.names[0], { range: "10.42.0.0/16", called: "240.77.0.0/16" }],
    },
    "too many names": { names: Array.from({ length: 17 }, () => good.names[0]) },
    "an endpoint without a port": { endpoints: ["wave.example"] },
    "an endpoint that is an option": { endpoints: ["--x y:1"] },
    "an endpoint at port 99999": { endpoints: ["wave.example:99999"] },
    "a hub that is no site": { relay: { hub: "hub", port: 1 } },
    "a hub without a port": { relay: { hub: "a".repeat(26) } },
    "a hub at port 70000": { relay: { hub: "a".repeat(26), port: 70000 } },
    "nothing for a hub": { relay: null },
    "a hub for bad times that is none": { fallback: { hub: "hub", port: 1 } },
    "nobody whom it leads others to": { leadsTo: ["nobody"] },
    "everybody whom it leads others to": { leadsTo: Array(129).fill("a".repeat(26)) },
    "sights of nobody": { sights: [{ site: "nobody", endpoint: "203.0.113.9:40000" }] },
    "a sight of a name": { sights: [{ site: "b".repeat(26), endpoint: "wave.example:40000" }] },
    "a sight on loopback": { sights: [{ site: "b".repeat(26), endpoint: "127.0.0.1:40000" }] },
    "too many sights": { sights: Array(129).fill({ site: "b".repeat(26), endpoint: "203.0.113.9:1" }) },
    "a strange way of carrying": { tcp: "yes" },
    "an export of another's address": { exports: [{ name: "db", addresses: ["10.43.0.7"], ports: [] }] },
    "an export of a whole range": { exports: [{ name: "db", addresses: ["10.42.0.0/16"], ports: [] }] },
    "an export without a name": { exports: [{ name: "", addresses: [], ports: [] }] },
    "an export at port 0": { exports: [{ name: "db", addresses: [], ports: [{ protocol: "TCP", port: 0 }] }] },
    "an export of a strange protocol": {
      exports: [{ name: "db", addresses: [], ports: [{ protocol: "X", port: 1 }] }],
    },
    "too many exports": { exports: Array(129).fill({ name: "db", addresses: [], ports: [] }) },
    "lanes that are none": { lanes: "two" },
    "a lane that is nowhere": { lanes: [["gate.example"]] },
    "a lane of one string": { lanes: ["gate.example:1"] },
    "a lane with too many endpoints": { lanes: [Array(9).fill("a:1")] },
    "more lanes than there can be": { lanes: Array(8).fill([]) },
    "too many endpoints": { endpoints: Array(9).fill("a:1") },
  };
  for (const [what, change] of Object.entries(wrong)) {
    it(`is not believed where it has ${what}`, () =>
      assert.equal(checkNetworkFacts({ ...good, ...change }), undefined));
  }

  it("may have lanes, which say where they are, or that they cannot be dialled", () => {
    const lanes = [["a:2", "[2001:db8::1]:2"], []];
    assert.deepEqual(checkNetworkFacts({ ...good, lanes })?.lanes, lanes);
    assert.equal(checkNetworkFacts({ ...good, lanes: [] })?.lanes, undefined);
  });

  it("is believed or not, whatever it is, and passes again unchanged", () => {
    const part = fc.oneof(fc.anything(), fc.array(fc.oneof(fc.string(), fc.constantFrom(...good.ranges))));
    const facts = fc.record({ publicKey: fc.constant(good.publicKey), endpoints: part, ranges: part, names: part });
    fc.assert(
      fc.property(fc.oneof(fc.anything(), facts), (value) => {
        const checked = checkNetworkFacts(value);
        if (checked !== undefined) assert.deepEqual(checkNetworkFacts(checked), checked);
      }),
    );
  });
});
