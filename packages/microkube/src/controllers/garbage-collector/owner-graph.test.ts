import assert from "node:assert/strict";
import { test } from "node:test";
import { Pod } from "@fjord/kube";
import { FOREGROUND, type GraphNode, nodeOf, ORPHAN, OwnerGraph } from "./owner-graph.ts";
import { blockers, judge, type OwnerState } from "./verdict.ts";

function node(uid: string, owners: string[] = [], more: Partial<GraphNode> = {}): GraphNode {
  const references = owners.map((owner) => ({
    apiVersion: "v1",
    kind: "ReplicationController",
    name: owner,
    uid: owner,
    blockOwnerDeletion: true,
  }));
  const metadata = { name: uid, uid, ownerReferences: references, resourceVersion: "1" };
  return { ...nodeOf(Pod, { apiVersion: "v1", kind: "Pod", metadata }), ...more };
}
const foreground = { deleting: true, finalizers: [FOREGROUND] };

test("an object whose owner nobody knows is looked at, one whose owner is there is not", () => {
  const graph = new OwnerGraph();
  assert.deepEqual(graph.put(node("pod", ["rc"])), ["pod"]);
  assert.deepEqual(graph.put(node("rc")), []);
  assert.deepEqual(graph.put(node("other", ["rc"])), []);
  assert.deepEqual(
    graph.dependentsOf("rc").map(({ uid }) => uid),
    ["pod", "other"],
  );
});

test("when an owner goes, its dependents are looked at", () => {
  const graph = new OwnerGraph();
  graph.put(node("rc"));
  graph.put(node("a", ["rc"]));
  graph.put(node("b", ["rc"]));
  assert.deepEqual(graph.remove("rc"), ["a", "b"]);
  assert.deepEqual(graph.remove("rc"), []);
  assert.deepEqual(graph.remove("a"), []);
  assert.equal(graph.size, 1);
});

test("one that waits for its dependents is looked at with them, and again as they go", () => {
  const graph = new OwnerGraph();
  graph.put(node("rc"));
  graph.put(node("a", ["rc"]));
  assert.deepEqual(graph.put(node("rc", [], foreground)), ["rc", "a"]);
  assert.deepEqual(graph.put(node("rc", [], foreground)), []);
  assert.deepEqual(graph.put(node("late", ["rc"])), ["late"]);
  assert.deepEqual(graph.put(node("late")), ["rc"]);
  assert.deepEqual(graph.remove("a"), ["rc"]);
});

test("one that leaves orphans is looked at once", () => {
  const graph = new OwnerGraph();
  graph.put(node("rc"));
  assert.deepEqual(graph.put(node("rc", [], { deleting: true, finalizers: [ORPHAN] })), ["rc"]);
  assert.deepEqual(graph.put(node("rc", [], { deleting: true, finalizers: [ORPHAN] })), []);
});

test("an object goes when all its owners are gone, and forgets those that are gone while others stay", () => {
  const states: Record<string, OwnerState> = { a: "solid", b: "absent", c: "waiting" };
  const stateOf = ({ uid }: { uid: string }) => states[uid] ?? "absent";
  const verdict = (owners: string[], more: Partial<GraphNode> = {}, dependents: GraphNode[] = []) =>
    judge(node("x", owners, more), stateOf, dependents);
  assert.deepEqual(verdict([]), { type: "leave" });
  assert.deepEqual(verdict(["a"]), { type: "leave" });
  assert.deepEqual(verdict(["b"]), { type: "delete", policy: "Background" });
  assert.deepEqual(verdict(["c"]), { type: "delete", policy: "Background" });
  assert.deepEqual(verdict(["c"], {}, [node("y", ["x"])]), { type: "delete", policy: "Foreground", unblock: false });
  assert.deepEqual(verdict(["b"], {}, [node("y", ["x"])]), { type: "delete", policy: "Background" });
  assert.deepEqual(verdict(["b"], { finalizers: [ORPHAN] }), { type: "delete", policy: "Orphan" });
  assert.deepEqual(verdict(["b"], { finalizers: [FOREGROUND] }), { type: "delete", policy: "Foreground" });
  const both = verdict(["a", "b", "c"]);
  assert.equal(both.type, "disown");
  assert.deepEqual(both.type === "disown" && both.owners.map(({ uid }) => uid), ["a"]);
});

test("in a circle nobody blocks", () => {
  const waiting = node("y", ["x"], foreground);
  assert.deepEqual(
    judge(node("x", ["c"]), () => "waiting", [waiting]),
    {
      type: "delete",
      policy: "Foreground",
      unblock: true,
    },
  );
  assert.deepEqual(blockers(node("x"), [waiting, node("z", ["q"])]), [waiting]);
});
