import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { maxNodes, planNodes } from "./network-plan.ts";
const layout = { name: "site-3", podCidr: "10.103.0.0/16" };
const network = { bridge: "fj0abc12z-3", cidr: "198.18.7.0/24", address: "198.18.7.1" };
test("a site's nodes are numbered in name, address and pod range", () => {
    assert.deepEqual(planNodes(layout, network, 2), [
        { name: "site-3-node-1", index: 1, address: "198.18.7.11", podCidr: "10.103.0.0/24", link: "fj0abc12z-3-1" },
        { name: "site-3-node-2", index: 2, address: "198.18.7.12", podCidr: "10.103.1.0/24", link: "fj0abc12z-3-2" },
    ]);
});
test("no two nodes share anything, and the kernel takes the name of every link", () => {
    fc.assert(fc.property(fc.integer({ min: 1, max: 70 }), fc.integer({ min: 0, max: maxNodes }), (site, count) => {
        const bridge = `fjzzzzzzz-${site}`;
        const nodes = planNodes({ name: `site-${site}`, podCidr: `10.${100 + site}.0.0/16` }, { ...network, bridge }, count);
        for (const key of ["name", "address", "podCidr", "link"]) {
            assert.equal(new Set(nodes.map((node) => node[key])).size, count);
        }
        for (const node of nodes) {
            assert.ok(node.link.length <= 15, node.link);
            assert.ok(node.address.startsWith("198.18.7.") && node.address !== network.address);
            assert.ok(node.podCidr.startsWith(`10.${100 + site}.`));
        }
    }));
});
test("more nodes than there are names for are refused", () => {
    assert.throws(() => planNodes(layout, network, maxNodes + 1), { code: "TESTBED_TOO_MANY_NODES" });
});
