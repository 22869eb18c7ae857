import assert from "node:assert/strict";
import { test } from "node:test";
import { containersOf } from "../pod-containers.ts";
import { newPod } from "../testing/pod-bench.ts";
import { restartsAfter } from "./restart-policy.ts";

type Policy = "Always" | "OnFailure" | "Never";
type Role = "init" | "sidecar" | "main" | "ephemeral";

function restarts(role: Role, policy: Policy, exitCode: number, own: object = {}): boolean {
  const container = { name: "c", image: "i", ...(role === "sidecar" && { restartPolicy: "Always" }), ...own };
  const lists = {
    init: "initContainers",
    sidecar: "initContainers",
    main: "containers",
    ephemeral: "ephemeralContainers",
  };
  const pod = newPod("p", { containers: [], restartPolicy: policy, [lists[role]]: [container] });
  const [found] = containersOf(pod);
  assert.ok(found);
  assert.equal(found.role, role);
  return restartsAfter(pod, found, exitCode);
}

for (const [role, policy, exitCode, expected] of [
  ["main", "Always", 0, true],
  ["main", "Always", 1, true],
  ["main", "OnFailure", 0, false],
  ["main", "OnFailure", 1, true],
  ["main", "Never", 0, false],
  ["main", "Never", 1, false],
  ["init", "Always", 0, false],
  ["init", "Always", 1, true],
  ["init", "OnFailure", 1, true],
  ["init", "Never", 1, false],
  ["sidecar", "Never", 0, true],
  ["sidecar", "Never", 1, true],
  ["ephemeral", "Always", 0, false],
  ["ephemeral", "Always", 1, false],
] as const) {
  test(`a ${role} container of a pod with ${policy} that ends with ${exitCode} is ${expected ? "" : "not "}restarted`, () => {
    assert.equal(restarts(role, policy, exitCode), expected);
  });
}

test("a container's own policy goes before the pod's", () => {
  assert.equal(restarts("main", "Always", 1, { restartPolicy: "Never" }), false);
  assert.equal(restarts("main", "Never", 1, { restartPolicy: "OnFailure" }), true);
});

test("rules on exit codes go before any policy; the first that matches decides", () => {
  const rule = (operator: string, values: number[]) => ({ action: "Restart", exitCodes: { operator, values } });
  const own = { restartPolicy: "Never", restartPolicyRules: [rule("In", [42])] };
  assert.equal(restarts("main", "Never", 42, own), true);
  assert.equal(restarts("main", "Never", 1, own), false);
  const others = { restartPolicy: "Never", restartPolicyRules: [rule("NotIn", [42])] };
  assert.equal(restarts("main", "Never", 1, others), true);
  assert.equal(restarts("main", "Never", 42, others), false);
});
