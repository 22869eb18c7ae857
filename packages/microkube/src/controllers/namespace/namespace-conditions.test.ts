import assert from "node:assert/strict";
import { test } from "node:test";
import { type Remains, terminationConditions } from "./namespace-conditions.ts";

const NOW = Date.UTC(2030, 0, 1);
const nothing: Remains = { resources: new Map(), finalizers: new Map(), failures: [] };

test("a namespace that is empty says so in five ways", () => {
  const conditions = terminationConditions([], nothing, NOW);
  assert.deepEqual(
    conditions.map(({ type, status, reason }) => `${type} ${status} ${reason}`),
    [
      "NamespaceDeletionDiscoveryFailure False ResourcesDiscovered",
      "NamespaceDeletionGroupVersionParsingFailure False ParsedGroupVersions",
      "NamespaceDeletionContentFailure False ContentDeleted",
      "NamespaceContentRemaining False ContentRemoved",
      "NamespaceFinalizersRemaining False ContentHasNoFinalizers",
    ],
  );
});

test("what remains is counted, and the time moves with the status alone", () => {
  const resources = new Map([
    ["widgets.example.com", 1],
    ["pods.", 2],
  ]);
  const remains = { ...nothing, resources, finalizers: new Map([["a/b", 3]]), failures: ["no"] };
  const conditions = terminationConditions(terminationConditions([], nothing, NOW), remains, NOW + 5000);
  const texts = Object.fromEntries(conditions.map(({ type, message }) => [type, message]));
  assert.equal(
    texts.NamespaceContentRemaining,
    "Some resources are remaining: pods. has 2 resource instances, widgets.example.com has 1 resource instances",
  );
  assert.equal(
    texts.NamespaceFinalizersRemaining,
    "Some content in the namespace has finalizers remaining: a/b in 3 resource instances",
  );
  assert.equal(texts.NamespaceDeletionContentFailure, "Failed to delete all resource types, 1 remaining: no");
  assert.deepEqual(
    conditions.map(({ lastTransitionTime }) => lastTransitionTime?.slice(17, 19)),
    ["00", "00", "05", "05", "05"],
  );
});
