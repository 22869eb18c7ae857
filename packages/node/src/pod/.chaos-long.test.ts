import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import type { PodSpec } from "./pod-containers.ts";
import { newPod, PodBench } from "./testing/pod-bench.ts";

type Step =
  | { readonly kind: "exit" | "loseSandbox" | "delete" | "force"; readonly pod: number; readonly pick: number }
  | { readonly kind: "restart" | "crash" | "wait"; readonly seconds: number }
  | { readonly kind: "fail"; readonly call: string };

const calls = [
  "runSandbox",
  "stopSandbox",
  "removeSandbox",
  "createContainer",
  "startContainer",
  "stopContainer",
  "list",
];

const stepArbitrary: fc.Arbitrary<Step> = fc.oneof(
  fc.record({
    kind: fc.constantFrom(
      "exit" as const,
      "exit" as const,
      "loseSandbox" as const,
      "delete" as const,
      "force" as const,
    ),
    pod: fc.nat({ max: 3 }),
    pick: fc.nat({ max: 5 }),
  }),
  fc.record({
    kind: fc.constantFrom("restart" as const, "crash" as const, "wait" as const),
    seconds: fc.nat({ max: 12 }),
  }),
  fc.record({ kind: fc.constant("fail" as const), call: fc.constantFrom(...calls) }),
);

const specs: Partial<PodSpec>[] = [
  {},
  { containers: [{ name: "a" }, { name: "b" }], terminationGracePeriodSeconds: 5 },
  {
    initContainers: [{ name: "side", restartPolicy: "Always" }],
    containers: [{ name: "web", readinessProbe: { exec: { command: ["ready"] } } }],
  },
  {
    containers: [
      { name: "web", lifecycle: { postStart: { exec: { command: ["hi"] } }, preStop: { exec: { command: ["bye"] } } } },
    ],
  },
];

async function take(bench: PodBench, step: Step): Promise<void> {
  if (step.kind === "wait") return bench.advance(step.seconds);
  if ("seconds" in step) {
    // A crash is a stop that nobody waits for: what was under way goes on beside the next life for a moment.
    const stopped = bench.stopNode();
    if (step.kind === "restart") await stopped;
    await bench.advance(step.seconds / 10);
    await stopped;
    return bench.startNode();
  }
  if (step.kind === "fail") {
    const failures = bench.runtime.failures.get(step.call) ?? [];
    bench.runtime.failures.set(step.call, [...failures, new Error("by chance")]);
    return;
  }
  const uid = `uid-pod-${step.pod}`;
  const sandbox = bench.runtime.sandboxes.find(({ pod }) => pod.uid === uid);
  const running = sandbox?.containers.filter(({ state }) => state === "running") ?? [];
  const container = running[step.pick % Math.max(running.length, 1)];
  if (step.kind === "exit" && container !== undefined) bench.runtime.exit(container.id, step.pick);
  if (step.kind === "loseSandbox" && sandbox !== undefined) bench.runtime.loseSandbox(sandbox.id);
  if (step.kind === "delete") bench.api.markDeleted(uid, 5);
  if (step.kind === "force") bench.api.drop(uid);
  await bench.advance(0.1);
}

test("whatever fails and whoever dies, pods come to what they should be, and nothing runs twice or is left", async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(stepArbitrary, { maxLength: 25 }), async (steps) => {
      await using bench = await PodBench.start({ tidyMs: 10_000 });
      specs.forEach((spec, index) => {
        bench.api.put(newPod(`pod-${index}`, spec));
      });
      for (const step of steps) await take(bench, step);
      bench.runtime.failures.clear();
      await bench.advance(400, 4);

      assert.deepEqual(bench.runtime.twins, [], "no container ran twice");
      const known = new Set(bench.api.pods.keys());
      const strays = bench.runtime.sandboxes.filter(({ pod }) => !known.has(pod.uid));
      assert.deepEqual(strays, [], "nothing is left of pods that are gone");
      for (const pod of bench.api.pods.values()) {
        assert.equal(pod.metadata.deletionTimestamp, undefined, "deleted pods are gone");
        assert.equal(pod.status?.phase, "Running");
        assert.equal(pod.status.conditions?.find(({ type }) => type === "Ready")?.status, "True");
        for (const { name, restartCount, containerID } of pod.status.containerStatuses ?? []) {
          const running = bench.runtime.running(name, pod.metadata.uid);
          assert.equal(containerID, `fake://${running?.id}`);
          assert.equal(restartCount, running?.attempt);
        }
      }
    }),
    { numRuns: 60, endOnFailure: true },
  );
});
