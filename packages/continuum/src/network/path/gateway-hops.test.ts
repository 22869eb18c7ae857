import assert from "node:assert/strict";
import { it } from "node:test";
import { Link, newObject } from "@fjord/api";
import { linkHop } from "./gateway-hops.ts";

it("a link through a hub is shown with the hub's name, and no address of the inside", () => {
  const [site, via] = ["mzxw6ytboi2dcmrtgq2tmnzyhe", "aaaaaaaaaaaaaaaaaaaaaaaaaa"];
  const spec = { site, publicKey: `${"Ab+/".repeat(10)}Abc=`, endpoints: [], groups: [] };
  const link = newObject(Link, { metadata: { name: site }, spec });
  const shown = (status: object) =>
    linkHop({ ...link, status } as Link, { nameOf: (id) => (id === via ? "hub" : undefined) }).what.split(": ")[0];
  assert.equal(
    shown({ via, endpoint: "250.251.250.45:51820" }),
    "WireGuard, through the gateway of hub, which cannot read it",
  );
  assert.equal(shown({ endpoint: "192.0.2.2:51820" }), "WireGuard, peer at 192.0.2.2:51820");
});

it("a link of several lanes is shown with the nodes that carry them, but for those that the peer does not answer on", () => {
  const site = "mzxw6ytboi2dcmrtgq2tmnzyhe";
  const shown = (lanes: object[]) => {
    const spec = { site, publicKey: `${"Ab+/".repeat(10)}Abc=`, endpoints: [], groups: [], lanes: [{ endpoints: [] }] };
    const link = newObject(Link, { metadata: { name: site }, spec });
    return linkHop({ ...link, status: { ...link.status, lanes } } as Link).what.split(":")[0];
  };
  const [first, second] = [
    { lane: 0, node: "one" },
    { lane: 1, node: "two" },
  ];
  assert.equal(shown([second, first]), "WireGuard, by its ports on lane 0 (node one) or 1 (node two)");
  assert.equal(shown([first, { ...second, silent: true }]), "WireGuard");
  assert.equal(shown([{ lane: 0 }, { lane: 1 }]), "WireGuard", "one gateway has them all");
  assert.equal(shown([first, { ...second, lane: 7 }]), "WireGuard");
});
