import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { type BedPlan, freeNodeSubnets, freeRanges, planSites } from "./bed-plan.ts";

function plan(change: Partial<BedPlan>): BedPlan {
  const sites = change.sites ?? 3;
  return {
    id: "abc",
    directory: "/bed",
    sites,
    overlap: false,
    kubernetes: ["1.36"],
    components: "all",
    ports: Array.from({ length: sites * 5 }, (_, i) => 20_000 + i),
    nodeSubnets: [],
    ...change,
  };
}

test("sites share no range, port or directory by default", () => {
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 70 }), fc.integer({ min: 1, max: 70 }), (sites, firstRange) => {
      const layouts = planSites(plan({ sites, firstRange }));
      const ranges = layouts.flatMap(({ podCidr, serviceCidr }) => [podCidr, serviceCidr]);
      const ports = layouts.flatMap((layout) => Object.values(layout.ports));
      assert.equal(new Set(ranges).size, 2 * sites);
      assert.equal(new Set(ports).size, 5 * sites);
      assert.equal(new Set(layouts.map(({ directory }) => directory)).size, sites);
      for (const range of ranges) assert.ok(Number(range.split(".")[1]) < 256, range);
    }),
  );
});

test("sites have the names that they are given", () => {
  const names = ["harbor", "green-smoke"];
  const layouts = planSites(plan({ sites: 2, names }));
  assert.deepEqual(
    layouts.map(({ name, directory }) => [name, directory]),
    names.map((name) => [name, `/bed/${name}`]),
  );
});

test("with overlap the ranges are equal and the ports are not", () => {
  const [first, second] = planSites(plan({ sites: 2, overlap: true }));
  assert.equal(first?.podCidr, second?.podCidr);
  assert.equal(first?.serviceCidr, second?.serviceCidr);
  assert.notEqual(first?.ports.apiserver, second?.ports.apiserver);
});

test("sites have ranges of the families that are asked for, and the API an address of the first", () => {
  const [dual] = planSites(plan({ sites: 1, families: "dual", nodeSubnets: [7] }));
  assert.deepEqual(dual?.podCidrs, ["10.101.0.0/16", "fd77:1::/48"]);
  assert.deepEqual(dual?.serviceCidrs, ["10.181.0.0/16", "fd78:1::/112"]);
  assert.equal(dual?.dnsServiceAddress, "10.181.0.10");
  const [ipv6, other] = planSites(plan({ sites: 2, families: "ipv6", nodeSubnets: [7, 8] }));
  assert.deepEqual([ipv6?.podCidrs, ipv6?.podCidr], [["fd77:1::/48"], "fd77:1::/48"]);
  assert.deepEqual(other?.podCidrs, ["fd77:2::/48"]);
  assert.equal(ipv6?.apiServiceAddress, "fd78:1::1");
  assert.ok(ipv6?.certificateAddresses.includes("fd79:7::1"));
});

test("sites take the Kubernetes minors in turn", () => {
  const minors = planSites(plan({ kubernetes: ["1.36", "1.35"] })).map(({ kubernetes }) => kubernetes);
  assert.deepEqual(minors, ["1.36", "1.35", "1.36"]);
});

test("a site with real nodes listens on its bridge, which its certificate names", () => {
  const [first, second] = planSites(plan({ sites: 2, nodeSubnets: [7, 9] }));
  assert.equal(first?.address, "198.18.7.1");
  assert.ok(first?.certificateAddresses.includes("198.18.7.1"));
  assert.ok(second?.certificateAddresses.includes("198.18.7.1"), "site-1 reaches site-2 by a path on site-1's bridge");
  assert.ok((first?.nodeNetwork?.bridge.length ?? 99) <= 15, "the kernel takes no longer interface names");
});

test("node networks avoid those that the host has", () => {
  assert.deepEqual(freeNodeSubnets(3, ["198.18.254.1", "198.18.0.1", "10.0.0.1"], 253), [253, 255, 1]);
  assert.deepEqual(
    freeNodeSubnets(2, [], 7, (subnet) => subnet !== 8),
    [7, 9],
  );
});

test("a bed takes ranges to which the host has no way yet, and the first ones where it may", () => {
  const routes = (...destinations: string[]) =>
    ["Iface\tDestination\tGateway", ...destinations.map((each) => `fjx-1\t${each}\t0B1B12C6`)].join("\n");
  assert.equal(freeRanges(2, routes("00000000", "000200C0")), 1);
  assert.equal(freeRanges(1, routes("0000650A")), 2);
  assert.equal(freeRanges(2, routes("0000660A")), 3);
  assert.equal(freeRanges(1, routes("0000AA0A"), 70), 1);
  assert.equal(
    freeRanges(2, routes(), 1, (podCidr) => podCidr !== "10.102.0.0/16"),
    3,
  );
  const [site] = planSites(plan({ sites: 1, firstRange: freeRanges(1, routes("0000650A")) }));
  assert.equal(site?.podCidr, "10.102.0.0/16");
});
