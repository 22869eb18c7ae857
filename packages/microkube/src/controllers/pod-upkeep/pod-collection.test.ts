import assert from "node:assert/strict";
import { test } from "node:test";
import type { Pod } from "@fjord/kube";
import { collectionOf } from "./pod-collection.ts";

const pod = (name: string, nodeName?: string, phase = "Running", metadata = {}): Pod =>
  ({ metadata: { name, ...metadata }, spec: { nodeName }, status: { phase } }) as Pod;
const names = (pods: readonly Pod[]) => pods.map(({ metadata }) => metadata.name);

test("pods without a node to end them are collected", () => {
  const going = { deletionTimestamp: "2030-01-01T00:00:00Z" };
  const pods = [
    pod("a", "n1"),
    pod("b", "gone"),
    pod("c"),
    pod("d", undefined, "Pending", going),
    pod("e", "n1", "Running", going),
  ];
  const { orphans, unscheduled, surplus } = collectionOf(pods, (name) => name === "n1");
  assert.deepEqual([names(orphans), names(unscheduled), names(surplus)], [["b"], ["d"], []]);
});

test("of many that have ended the oldest go", () => {
  const pods = [3, 1, 2].map((day) =>
    pod(`p${day}`, "n1", "Failed", { creationTimestamp: `2030-01-0${day}T00:00:00Z` }),
  );
  assert.deepEqual(names(collectionOf(pods, () => true, 1).surplus), ["p1", "p2"]);
});
