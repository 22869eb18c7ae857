import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { type AddressPlan, type Link, newObject, Site } from "@fjord/api";
import fc from "fast-check";
import { addressPlan, factsOf } from "./address-plan.ts";
import { fabricOf } from "./fabric/fabric.ts";
import { wholeFirewall } from "./fabric/firewall-change.ts";
import { checkNetworkFacts } from "./network-facts.ts";
import { networkState } from "./network-state-of.ts";
import { ownNetwork } from "./own-network.ts";

const PEER = "p".repeat(26);
const KEY = `${"h".repeat(42)}A=`;
/** What people type, and what nobody would. */
const RANGES = [
  "0.0.0.0/0",
  "::/0",
  "10.42.0.5/16",
  "10.42.0.0/16",
  "10.42.0.0/24",
  "127.0.0.0/8",
  "224.0.0.0/4",
  "255.255.255.255/32",
  "::ffff:10.0.0.0/104",
  "",
  "10.42.0.0",
  "10.42.0.0/33",
  "fe80::/10",
  "fd66:6a70::/32",
  "248.0.0.0/6",
  "252.0.0.0/20",
  "10.0.0.0/8",
  "fd00::/8",
  "::/128",
  "2001:db8::/127",
  "a\u001b[2Jb",
  " ",
];
const some = fc.array(fc.constantFrom(...RANGES), { maxLength: 6 });

const siteOf = (network: object): Site =>
  ({
    ...newObject(Site, { metadata: { name: "own" }, spec: { network } }),
    status: { id: "o".repeat(26) },
  }) as Site;
const facts = checkNetworkFacts({
  publicKey: KEY,
  endpoints: ["192.0.2.9:51820"],
  ranges: ["10.42.0.0/16", "fd42::/64"],
  names: [{ range: "10.42.0.0/16", called: "240.9.0.0/16" }],
});

describe("Whatever an owner says of the own network", () => {
  it("peers are told nothing that makes them refuse all of it, and a gateway makes rules of the rest", () => {
    const networks = fc.record(
      {
        podRanges: some,
        names: some,
        reserved: some,
        machines: some,
        lanes: fc.integer({ min: 1, max: 8 }),
        port: fc.constantFrom(1, 51_820, 65_535),
      },
      { requiredKeys: [] },
    );
    fc.assert(
      fc.property(networks, (network) => {
        const site = siteOf(network);
        const own = ownNetwork(site, [], ["10.96.0.0/12"]);
        assert.ok(own !== undefined && facts !== undefined);
        const spec = addressPlan({ site: PEER, own, others: [], words: [], facts, meetings: {} });
        const told = factsOf(spec, { publicKey: KEY, endpoints: own.endpoints, lanes: own.lanes });
        assert.ok(told === undefined || checkNetworkFacts(told) !== undefined, JSON.stringify(told));
        const groups = [{ name: "shop", local: ["10.42.0.7"], remote: [] }];
        const { machines } = own;
        const link = { metadata: {}, spec: { site: PEER, publicKey: KEY, endpoints: [], groups, machines } };
        const plans = [{ spec } as unknown as AddressPlan];
        const state = networkState(site, plans, [link as unknown as Link]);
        wholeFirewall(fabricOf(state, { interfacePrefix: "fjord" }));
      }),
    );
  });

  it("ranges of machines mean what they mean in Kubernetes, with bits behind the prefix too, and each once", () => {
    const machines = ["192.168.7.5/24", "192.168.7.0/25", "fd07::9/64"];
    assert.deepEqual(ownNetwork(siteOf({ machines }), [], [])?.machines, ["192.168.7.0/24", "fd07::/64"]);
  });
});

describe("A plan that somebody has edited", () => {
  it("costs that peer its link at most, and no other one", () => {
    const planOf = (site: string, range: string, called: string) =>
      ({
        spec: { site, own: [{ range, called }], peer: [{ range: called, called }] },
      }) as unknown as AddressPlan;
    const linkOf = (site: string, letter: string) =>
      ({
        metadata: {},
        spec: { site, publicKey: `${letter.repeat(42)}A=`, endpoints: [], groups: [] },
      }) as unknown as Link;
    const [other, bad] = ["a".repeat(26), "b".repeat(26)];
    for (const range of ["10.42.0.5/16", "", "nonsense", "10.42.0.0/99"]) {
      const plans = [planOf(other, "10.42.0.0/16", "240.0.0.0/16"), planOf(bad, range, "240.1.0.0/16")];
      const state = networkState(siteOf({}), plans, [linkOf(other, "a"), linkOf(bad, "b")]);
      const fabric = fabricOf(state, { interfacePrefix: "fjord" });
      assert.deepEqual([...fabric.peers.keys()], [other], range);
      assert.deepEqual([...fabric.faults.keys()], [bad], range);
    }
  });
});
