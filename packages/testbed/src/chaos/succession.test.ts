import assert from "node:assert/strict";
import { test } from "node:test";
import type { Pod } from "@fjord/kube";
import { describeSuccession, reasonOfSuccession } from "./succession.ts";
import type { GuestSeen } from "./watchman.ts";

const contracts = new Map<string, string | undefined>([
  ["c-1", undefined],
  ["c-2", "c-1"],
  ["c-3", "c-2"],
  ["c-other", undefined],
]);

function guest(contract: string, conditions: { type: string; status: string; reason: string }[] = []): GuestSeen {
  const metadata = { name: "web", uid: contract, annotations: { "fjord.dev/contract": contract } };
  const pod = { apiVersion: "v1", kind: "Pod", metadata, status: { phase: "Running", conditions } } as Pod;
  return { site: "site-2", pod, from: 0, until: 1_000 };
}

test("a guest may follow on another whose contract has ended", () => {
  assert.equal(reasonOfSuccession(guest("c-1"), guest("c-other"), contracts), "its contract had ended");
});

test("a guest may not follow on another under the same contract, be it renewed", () => {
  assert.equal(reasonOfSuccession(guest("c-1"), guest("c-1"), contracts), undefined);
  assert.equal(reasonOfSuccession(guest("c-1"), guest("c-3"), contracts), undefined);
  assert.equal(reasonOfSuccession(guest("c-1"), guest("c-unknown"), contracts), undefined);
});

test("a guest may follow on one that the provider's machinery took away", () => {
  const evicted = guest("c-1", [{ type: "DisruptionTarget", status: "True", reason: "EvictionByEvictionAPI" }]);
  assert.equal(reasonOfSuccession(evicted, guest("c-1"), contracts), "disrupted: EvictionByEvictionAPI");
});

test("what cannot be explained is told with all that is known", () => {
  assert.match(describeSuccession([guest("c-1"), guest("c-2")]), /c-1 at site-2 .*contract c-1.*; then c-2 at site-2/);
});
