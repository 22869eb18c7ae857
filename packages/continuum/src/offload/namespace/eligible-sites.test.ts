import assert from "node:assert/strict";
import { test } from "node:test";
import { newObject, Offloading, SITE_LABEL, VirtualNode } from "@fjord/api";
import type { Node } from "@fjord/kube";
import type { KnownVirtualNode } from "../../virtual-nodes.ts";
import { LABELS_ANNOTATION, LABELS_DIGEST_ANNOTATION, notesOf } from "../node/given-labels.ts";
import { eligibleSites } from "./eligible-sites.ts";

type Labels = Record<string, string>;

/** A Node with the labels that its owner wants, and what somebody has made of these. */
function nodeOf(name: string, given: Labels, labels: Labels = given): Node {
  return { apiVersion: "v1", kind: "Node", metadata: { name, labels, annotations: notesOf(given) } };
}

const known = (name: string, site: string): KnownVirtualNode => {
  const object = newObject(VirtualNode, { metadata: { name }, spec: { contract: `c-${name}` } });
  return { name, site, contract: `c-${name}`, object };
};

const cloudLabels = { [SITE_LABEL]: "cloud", tier: "cloud" };
const cloud = nodeOf("cloud", cloudLabels);
const edge = nodeOf("edge", { [SITE_LABEL]: "edge", tier: "edge" });
const second = nodeOf("second", { [SITE_LABEL]: "cloud", tier: "other" });
const both = new Set(["cloud", "edge"]);

function offloading(...told: string[]): Offloading {
  const spec = { sites: { matchLabels: { tier: "cloud" } } };
  const object = newObject(Offloading, { metadata: { name: "offloading", namespace: "shop" }, spec });
  return { ...object, status: { sites: told.map((site) => ({ site })) } } as Offloading;
}

/** Of an Offloading that is at both sites already, where there are these Nodes of a node of each. */
function stays(nodes: readonly Node[], ...more: readonly KnownVirtualNode[]): string[] {
  const all = [known("cloud", "cloud"), known("edge", "edge"), ...more];
  return [...eligibleSites(offloading("cloud", "edge"), nodes, all, both)].sort();
}

test("a namespace extends to the sites behind the nodes that it selects", () => {
  const all = [known("cloud", "cloud"), known("edge", "edge")];
  assert.deepEqual([...eligibleSites(offloading(), [cloud, edge], all, both)], ["cloud"]);
  assert.deepEqual(stays([cloud, edge]), ["cloud"], "it leaves the others");
});

test("a site that has no node for now is neither left nor entered", () => {
  assert.deepEqual(stays([edge]), ["cloud"]);
  assert.deepEqual(stays([cloud]), ["cloud", "edge"]);
  const all = [known("cloud", "cloud")];
  assert.deepEqual([...eligibleSites(offloading(), [], all, both)], []);
  assert.deepEqual([...eligibleSites(offloading("cloud"), [], [], both)], ["cloud"]);
  assert.deepEqual([...eligibleSites(offloading("cloud"), [], all, new Set(["edge"]))], [], "its contract is over");
});

test("a site is not left where somebody takes labels of its Node, or changes them", () => {
  const { tier: _, ...withoutTier } = cloudLabels;
  const { [SITE_LABEL]: __, ...withoutSite } = cloudLabels;
  for (const labels of [
    withoutTier,
    withoutSite,
    { ...cloudLabels, tier: "edge" },
    { ...cloudLabels, [SITE_LABEL]: "x" },
  ])
    assert.deepEqual(
      stays([nodeOf("cloud", cloudLabels, labels), edge]).includes("cloud"),
      true,
      JSON.stringify(labels),
    );
  const unsaid: Node = { ...cloud, metadata: { name: "cloud", labels: withoutTier } };
  assert.deepEqual(stays([unsaid, edge]), ["cloud"], "nobody knows what it was given");
});

test("a site is left whose owner wants other labels for its node", () => {
  const given = { ...cloudLabels, tier: "edge" };
  assert.deepEqual(stays([nodeOf("cloud", given), edge]), []);
  assert.deepEqual(stays([nodeOf("cloud", { [SITE_LABEL]: "cloud" }), edge]), []);
  const { [LABELS_DIGEST_ANNOTATION]: _, ...older } = notesOf(given);
  assert.ok(LABELS_ANNOTATION in older);
  assert.deepEqual(stays([{ ...cloud, metadata: { name: "cloud", labels: given, annotations: older } }, edge]), []);
});

test("a site with several nodes is left when none of all of them is selected", () => {
  const other = known("second", "cloud");
  assert.deepEqual(stays([cloud, second, edge], other), ["cloud"]);
  assert.deepEqual(stays([second, edge], other), ["cloud"], "the selected one is made again");
  assert.deepEqual(stays([nodeOf("cloud", { [SITE_LABEL]: "cloud" }), second, edge], other), []);
  const left = [other, known("edge", "edge")];
  assert.deepEqual([...eligibleSites(offloading("cloud"), [second, edge], left, both)], [], "it has ended");
});
