import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { maxNodes, planNodes } from "./network-plan.ts";

const layout = { name: "site-3", podCidrs: ["10.103.0.0/16"] };
const network = { bridge: "fj0abc12z-3", cidr: "198.18.7.0/24", address: "198.18.7.1" };

test("a site's nodes are numbered in name, address and pod range", () => {
  assert.deepEqual(planNodes(layout, network, 2), [
    {
      name: "site-3-node-1",
      index: 1,
      address: "198.18.7.11",
      addresses: ["198.18.7.11"],
      podCidr: "10.103.0.0/24",
      podCidrs: ["10.103.0.0/24"],
      link: "fj0abc12z-3-1",
    },
    {
      name: "site-3-node-2",
      index: 2,
      address: "198.18.7.12",
      addresses: ["198.18.7.12"],
      podCidr: "10.103.1.0/24",
      podCidrs: ["10.103.1.0/24"],
      link: "fj0abc12z-3-2",
    },
  ]);
});

test("a node has an address, and its pods have a range, of each family that pods have", () => {
  const both = { ...network, ipv6: { cidr: "fd79:7::/64", address: "fd79:7::1" } };
  const [, dual] = planNodes({ name: "site-3", podCidrs: ["10.103.0.0/16", "fd77:3::/48"] }, both, 2);
  assert.deepEqual(dual?.addresses, ["198.18.7.12", "fd79:7::c"]);
  assert.deepEqual(dual?.podCidrs, ["10.103.1.0/24", "fd77:3:0:2::/64"]);
  const [only] = planNodes({ name: "site-3", podCidrs: ["fd77:3::/48"] }, both, 1);
  assert.deepEqual(only?.addresses, ["fd79:7::b"]);
  assert.equal(only?.podCidr, "fd77:3:0:1::/64");
  assert.equal(only?.address, "198.18.7.11");
});

test("no two nodes share anything, and the kernel takes the name of every link", () => {
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 70 }), fc.integer({ min: 0, max: maxNodes }), (site, count) => {
      const bridge = `fjzzzzzzz-${site}`;
      const nodes = planNodes(
        { name: `site-${site}`, podCidrs: [`10.${100 + site}.0.0/16`] },
        { ...network, bridge },
        count,
      );
      for (const key of ["name", "address", "podCidr", "link"] as const) {
        assert.equal(new Set(nodes.map((node) => node[key])).size, count);
      }
      for (const node of nodes) {
        assert.ok(node.link.length <= 15, node.link);
        assert.ok(node.address.startsWith("198.18.7.") && node.address !== network.address);
        assert.ok(node.podCidr.startsWith(`10.${100 + site}.`));
      }
    }),
  );
});

test("more nodes than there are names for are refused", () => {
  assert.throws(() => planNodes(layout, network, maxNodes + 1), { code: "TESTBED_TOO_MANY_NODES" });
});
