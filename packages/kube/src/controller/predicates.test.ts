import assert from "node:assert/strict";
import { test } from "node:test";
import type { KubeObject, ObjectMeta } from "@fjord/base";
import {
  allOf,
  annotationsChanged,
  anyOf,
  generationChanged,
  labelsChanged,
  resourceVersionChanged,
} from "./predicates.ts";
import type { Change } from "./source.ts";

const object = (metadata: ObjectMeta): KubeObject => ({ apiVersion: "v1", kind: "Pod", metadata });
const update = (old: ObjectMeta, now: ObjectMeta): Change<KubeObject> => ({
  type: "update",
  old: object(old),
  object: object(now),
});

test("additions and deletions always matter", () => {
  for (const predicate of [generationChanged, labelsChanged, annotationsChanged, resourceVersionChanged]) {
    assert.equal(predicate({ type: "add", object: object({}), initial: false }), true);
    assert.equal(predicate({ type: "delete", object: object({}) }), true);
  }
});

test("each looks at its own part of an update", () => {
  assert.equal(labelsChanged(update({ labels: { a: "1", b: "2" } }, { labels: { b: "2", a: "1" } })), false);
  assert.equal(labelsChanged(update({}, { labels: {} })), false);
  assert.equal(labelsChanged(update({ labels: { a: "1" } }, { labels: { b: "1" } })), true);
  assert.equal(labelsChanged(update({ labels: { a: "1" } }, { labels: { a: "1", b: "1" } })), true);
  assert.equal(annotationsChanged(update({ annotations: { a: "1" } }, {})), true);
  assert.equal(resourceVersionChanged(update({ resourceVersion: "1" }, { resourceVersion: "1" })), false);
  assert.equal(generationChanged(update({ generation: 1 }, { generation: 1, resourceVersion: "2" })), false);
  assert.equal(generationChanged(update({ generation: 1 }, { generation: 1, deletionTimestamp: "now" })), true);
});

test("predicates combine", () => {
  const relabelled = update({ generation: 1 }, { generation: 1, labels: { a: "1" } });
  assert.equal(anyOf(generationChanged, labelsChanged)(relabelled), true);
  assert.equal(allOf(generationChanged, labelsChanged)(relabelled), false);
});
