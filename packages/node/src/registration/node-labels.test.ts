import assert from "node:assert/strict";
import { test } from "node:test";
import { architectureOf, checkNodeLabel } from "./node-labels.ts";
import { parseTaint } from "./taints.ts";

const allowed = [
  ["plain", "x"],
  ["empty", ""],
  ["example.com/place", "harbour-7"],
  ["kubernetes.io/hostname", "n"],
  ["kubernetes.io/arch", "amd64"],
  ["topology.kubernetes.io/zone", "z"],
  ["node.kubernetes.io/instance-type", "small"],
  ["node.kubernetes.io/anything", "x"],
  ["kubelet.kubernetes.io/anything", "x"],
  ["sub.node.kubernetes.io/anything", "x"],
  ["fjord.dev/runtime", "process"],
] as const;
for (const [label, value] of allowed) {
  test(`a node may label itself ${label}=${value}`, () => checkNodeLabel(label, value));
}

const refused = [
  ["node-restriction.kubernetes.io/tenant", "x"],
  ["a.node-restriction.kubernetes.io/tenant", "x"],
  ["node-role.kubernetes.io/control-plane", ""],
  ["kubernetes.io/other", "x"],
  ["k8s.io/other", "x"],
  ["scheduling.k8s.io/other", "x"],
  ["with space", "x"],
  ["a/b/c", "x"],
  ["/x", "x"],
  ["", "x"],
  ["x", "not a value"],
  ["x", "a".repeat(64)],
] as const;
for (const [label, value] of refused) {
  test(`a node may not label itself ${JSON.stringify(label)}=${value}`, () => {
    assert.throws(() => checkNodeLabel(label, value), { code: "NODE_LABEL_REFUSED" });
  });
}

test("architectures have Kubernetes' names", () => {
  assert.deepEqual(["x64", "arm64", "arm", "ia32", "riscv64"].map(architectureOf), [
    "amd64",
    "arm64",
    "arm",
    "386",
    "riscv64",
  ]);
});

test("taints are read as kubectl writes them", () => {
  assert.deepEqual(parseTaint("a=b:NoSchedule"), { key: "a", value: "b", effect: "NoSchedule" });
  assert.deepEqual(parseTaint("a:NoExecute"), { key: "a", effect: "NoExecute" });
  assert.deepEqual(parseTaint("x.y/a=:PreferNoSchedule"), { key: "x.y/a", value: "", effect: "PreferNoSchedule" });
  for (const text of ["", "a", "a=b", "a:Never", ":NoSchedule"]) {
    assert.throws(() => parseTaint(text), { code: "NODE_TAINT_INVALID" });
  }
});
