import assert from "node:assert/strict";
import { test } from "node:test";
import { newObject, ShadowPod } from "@fjord/api";
import type { Pod } from "@fjord/kube";
import { isLost } from "./lost-pod.ts";
import { type ShadowSources, shadowStatus } from "./shadow-status.ts";

const now = Date.parse("2030-01-01T00:00:00Z");
const within = { reason: "WithinContract", message: "" } as const;

function shadowOf(status?: ShadowPod["status"]): ShadowPod {
  const spec = { contract: "c-1", originUid: "u-1", pod: { spec: { containers: [{}] } } };
  return { ...newObject(ShadowPod, { metadata: { name: "web", generation: 1 }, spec }), ...(status && { status }) };
}

function podOf(phase: string, more: NonNullable<Pod["status"]> = {}, nodeName?: string): Pod {
  const metadata = { name: "web", uid: "p-1" };
  const status = { ...more, phase: phase as "Running" };
  return { apiVersion: "v1", kind: "Pod", metadata, spec: { containers: [], ...(nodeName && { nodeName }) }, status };
}

const of = (sources: Partial<ShadowSources>) => shadowStatus({ shadow: shadowOf(), recreations: 0, now, ...sources });
const reasons = (status: ReturnType<typeof of>) =>
  Object.fromEntries((status.conditions ?? []).map(({ type, status: holds, reason }) => [type, `${holds} ${reason}`]));

test("a pod that runs has been admitted, has a node and has started", () => {
  const status = of({ pod: podOf("Running", {}, "n"), verdict: within });
  assert.deepEqual([status.phase, status.podName, status.podUid], ["Running", "web", "p-1"]);
  assert.deepEqual(reasons(status), {
    Admitted: "True WithinContract",
    Scheduled: "True NodeChosen",
    Running: "True Started",
  });
});

test("a pod that was refused says why, and waits", () => {
  const status = of({ verdict: { reason: "AmountExceeded", message: "2 cpu" } });
  assert.equal(status.phase, "Pending");
  assert.equal(reasons(status).Admitted, "False AmountExceeded");
  assert.equal(reasons(status).Scheduled, "False NotAdmitted");
});

test("a pod without a node tells what the scheduler says", () => {
  const conditions = [
    { type: "PodScheduled", status: "False", reason: "Unschedulable", message: "0/3 nodes" },
  ] as const;
  const status = of({ pod: podOf("Pending", { conditions: [...conditions] }), verdict: within });
  assert.equal(status.conditions?.find(({ type }) => type === "Scheduled")?.message, "0/3 nodes");
});

test("a pod that is lost has failed, or is made again", () => {
  assert.equal(of({ lost: "its node is gone" }).phase, "Failed");
  assert.equal(reasons(of({ lost: "its node is gone" })).Running, "False Lost");
  assert.equal(reasons(of({ recreating: true, recreations: 1 })).Running, "False Recreating");
  assert.equal(of({ recreations: 2 }).recreations, 2);
});

test("an end that was told stays, whatever is seen later", () => {
  const shadow = shadowOf({ phase: "Succeeded" });
  assert.deepEqual(of({ shadow, pod: podOf("Running", {}, "n") }), { phase: "Succeeded" });
  assert.equal(of({ ended: "Succeeded" }).phase, "Succeeded");
});

test("the same again is the same", () => {
  const first = of({ pod: podOf("Running", {}, "n"), verdict: within });
  const again = of({ shadow: shadowOf(first), pod: podOf("Running", {}, "n"), verdict: within, now: now + 60_000 });
  assert.deepEqual(again, first);
});

test("a pod is lost that its node or its cluster ended, not one that ended by itself", () => {
  for (const reason of ["Evicted", "NodeLost", "Preempting", "OutOfcpu", "NodeAffinity", "Shutdown"]) {
    assert.equal(isLost(podOf("Failed", { reason })), true, reason);
  }
  const conditions = [{ type: "DisruptionTarget", status: "True" }] as const;
  assert.equal(isLost(podOf("Failed", { conditions: [...conditions] })), true);
  assert.equal(isLost(podOf("Failed", { reason: "DeadlineExceeded" })), false);
  assert.equal(isLost(podOf("Failed")), false);
  assert.equal(isLost(podOf("Succeeded", { reason: "Evicted" })), false);
  assert.equal(isLost(podOf("Running", { conditions: [...conditions] })), false);
});
