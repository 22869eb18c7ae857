import assert from "node:assert/strict";
import { test } from "node:test";
import { givenKeys, hasGivenLabels, LABELS_ANNOTATION, notesOf } from "./given-labels.ts";
import { nodeOf } from "./test-objects.ts";

const given = { site: "x", rack: "7" };
const nodeWith = (labels: object, annotations: object = notesOf(given)) => nodeOf({ labels, annotations });

test("a Node has its labels while nobody has taken or changed one", () => {
  assert.ok(hasGivenLabels(nodeWith(given)));
  assert.ok(hasGivenLabels(nodeWith({ theirs: "1", rack: "7", site: "x" })), "others may add some");
  assert.ok(!hasGivenLabels(nodeWith({ site: "x" })));
  assert.ok(!hasGivenLabels(nodeWith({ site: "x", rack: "8" })));
  assert.ok(hasGivenLabels(nodeWith({ site: "x" }, notesOf({ site: "x" }))), "it was given less");
  assert.ok(hasGivenLabels(nodeWith({}, notesOf({}))));
});

test("of a Node that does not say which labels it was given nobody knows whether it has them", () => {
  assert.ok(!hasGivenLabels(nodeWith(given, {})));
  assert.equal(givenKeys(nodeWith(given, {})), undefined);
});

test("a Node that an older agent has made has its labels where it has all of them", () => {
  const older = { [LABELS_ANNOTATION]: "rack,site" };
  assert.deepEqual(givenKeys(nodeWith(given, older)), ["rack", "site"]);
  assert.ok(hasGivenLabels(nodeWith({ site: "x", rack: "8" }, older)));
  assert.ok(!hasGivenLabels(nodeWith({ site: "x" }, older)));
});
