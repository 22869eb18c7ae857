import assert from "node:assert/strict";
import { test } from "node:test";
import { newObject, Offloading, SITE_LABEL } from "@fjord/api";
import type { Node } from "@fjord/kube";
import { eligibleSites } from "./eligible-sites.ts";

const nodeOf = (labels: Record<string, string>): Node => ({ apiVersion: "v1", kind: "Node", metadata: { labels } });
const cloud = nodeOf({ [SITE_LABEL]: "cloud", tier: "cloud" });
const edge = nodeOf({ [SITE_LABEL]: "edge", tier: "edge" });
const both = new Set(["cloud", "edge"]);

function offloading(...told: string[]): Offloading {
  const spec = { sites: { matchLabels: { tier: "cloud" } } };
  const object = newObject(Offloading, { metadata: { name: "offloading", namespace: "shop" }, spec });
  return { ...object, status: { sites: told.map((site) => ({ site })) } } as Offloading;
}

test("a namespace extends to the sites behind the nodes that it selects", () => {
  assert.deepEqual([...eligibleSites(offloading(), [cloud, edge], both)], ["cloud"]);
  assert.deepEqual([...eligibleSites(offloading("edge"), [cloud, edge], both)], ["cloud"], "it leaves the others");
});

test("a site that has no node for now is neither left nor entered", () => {
  assert.deepEqual([...eligibleSites(offloading("cloud", "edge"), [edge], both)], ["cloud"]);
  assert.deepEqual([...eligibleSites(offloading("cloud"), [nodeOf({ tier: "cloud" })], both)], ["cloud"]);
  assert.deepEqual([...eligibleSites(offloading(), [], both)], []);
  assert.deepEqual([...eligibleSites(offloading("cloud"), [], new Set(["edge"]))], [], "its contract is over");
});
