import assert from "node:assert/strict";
import { test } from "node:test";
import type { ShadowPod } from "@fjord/api";
import type { Pod } from "@fjord/kube";
import { hasObserved } from "./remote-pods.ts";

const shadow = { metadata: { name: "web", generation: 2 } } as unknown as ShadowPod;

function guest(made: string, generation?: number, observedGeneration?: number): Pod {
  const metadata = { name: "web", generation, annotations: { "fjord.dev/shadow-generation": made } };
  return { metadata, status: { observedGeneration } } as unknown as Pod;
}

test("a guest is what was asked for once it was made like that and its node knows it", () => {
  assert.equal(hasObserved(guest("1", 1, 1), shadow), false);
  assert.equal(hasObserved(guest("2", 2, 1), shadow), false);
  assert.equal(hasObserved(guest("2", 2, 2), shadow), true);
});

test("a provider whose pods tell nothing of generations is taken at its word", () => {
  assert.equal(hasObserved(guest("2", 2), shadow), true);
  assert.equal(hasObserved(guest("2"), shadow), true);
  assert.equal(hasObserved(guest("nonsense", 2, 2), shadow), false);
});
