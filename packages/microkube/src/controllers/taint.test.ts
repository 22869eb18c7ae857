import assert from "node:assert/strict";
import { test } from "node:test";
import { isTolerated, type Taint, toleratedSeconds } from "./taint.ts";

const taint: Taint = { key: "a", value: "1", effect: "NoExecute" };

test("a toleration bears the taints that it names", () => {
  assert.equal(isTolerated(taint, []), false);
  assert.equal(isTolerated(taint, [{ operator: "Exists" }]), true);
  assert.equal(isTolerated(taint, [{ key: "a", operator: "Exists" }]), true);
  assert.equal(isTolerated(taint, [{ key: "a", operator: "Exists", effect: "NoSchedule" }]), false);
  assert.equal(isTolerated(taint, [{ key: "a", value: "1" }]), true);
  assert.equal(isTolerated(taint, [{ key: "a", operator: "Equal", value: "2" }]), false);
  assert.equal(isTolerated(taint, [{ key: "b", operator: "Exists" }]), false);
});

test("taints are borne for the shortest of the times given, or for ever", () => {
  assert.equal(toleratedSeconds([taint], []), 0);
  assert.equal(toleratedSeconds([taint], [{ operator: "Exists" }]), undefined);
  assert.equal(toleratedSeconds([taint], [{ key: "a", operator: "Exists", tolerationSeconds: 300 }]), 300);
  const two = [
    { key: "a", operator: "Exists", tolerationSeconds: 300 },
    { operator: "Exists", tolerationSeconds: 5 },
  ] as const;
  assert.equal(toleratedSeconds([taint], two), 5);
  assert.equal(toleratedSeconds([taint, { key: "z", effect: "NoExecute" }], [two[0]]), 0);
  assert.equal(toleratedSeconds([taint], [{ key: "a", operator: "Exists", tolerationSeconds: -4 }]), 0);
});
