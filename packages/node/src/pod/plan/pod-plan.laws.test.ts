import assert from "node:assert/strict";
import { test } from "node:test";
import type { Pod } from "@fjord/kube";
import fc from "fast-check";
import { containersOf } from "../pod-containers.ts";
import { PlanModel } from "./plan-model.ts";

type Step =
  | { readonly kind: "exit"; readonly index: number; readonly exitCode: number }
  | { readonly kind: "unwell"; readonly index: number }
  | { readonly kind: "startup"; readonly index: number }
  | { readonly kind: "lose" }
  | { readonly kind: "wait"; readonly ms: number }
  | { readonly kind: "plan" };

const podArbitrary = fc
  .record({
    inits: fc.array(fc.constantFrom("init" as const, "sidecar" as const), { maxLength: 3 }),
    mains: fc.integer({ min: 1, max: 3 }),
    ephemeral: fc.integer({ min: 0, max: 1 }),
    restartPolicy: fc.constantFrom("Always" as const, "OnFailure" as const, "Never" as const),
    ownPolicy: fc.option(fc.constantFrom("Always", "OnFailure", "Never"), { nil: undefined }),
  })
  .map(({ inits, mains, ephemeral, restartPolicy, ownPolicy }): Pod => {
    return {
      apiVersion: "v1",
      kind: "Pod",
      metadata: { name: "pod", namespace: "default", uid: "uid" },
      spec: {
        restartPolicy,
        terminationGracePeriodSeconds: 30,
        initContainers: inits.map((kind, index) => ({
          name: `i${index}`,
          ...(kind === "sidecar" && { restartPolicy: "Always" }),
        })),
        containers: Array.from({ length: mains }, (_, index) => ({
          name: `m${index}`,
          ...(index === 0 && ownPolicy !== undefined && { restartPolicy: ownPolicy }),
        })),
        ephemeralContainers: Array.from({ length: ephemeral }, (_, index) => ({ name: `e${index}` })),
      },
    };
  });

const index = fc.nat({ max: 6 });
const stepArbitrary: fc.Arbitrary<Step> = fc.oneof(
  { arbitrary: fc.constant<Step>({ kind: "plan" }), weight: 8 },
  fc.record({ kind: fc.constant("exit" as const), index, exitCode: fc.constantFrom(0, 1, 42) }),
  fc.record({ kind: fc.constant("unwell" as const), index }),
  fc.record({ kind: fc.constant("startup" as const), index }),
  fc.constant<Step>({ kind: "lose" }),
  fc.record({ kind: fc.constant("wait" as const), ms: fc.constantFrom(1_000, 20_000, 700_000) }),
);

/** Takes the steps, checking after each action what must always hold. */
function live(pod: Pod, steps: readonly Step[]): PlanModel {
  const model = new PlanModel(pod);
  for (const step of steps) {
    if (step.kind === "plan") planOnce(model);
    else disturb(model, step);
  }
  return model;
}

function planOnce(model: PlanModel): void {
  for (const action of model.plan().actions) {
    if (action.do === "start") checkStart(model, action.container.name, action.attempt);
    model.carryOut(action);
    const running = model.running();
    assert.equal(new Set(running).size, running.length, `one container of each name runs: ${running}`);
  }
}

function checkStart(model: PlanModel, name: string, attempt: number): void {
  const all = model.containers().filter((container) => container.name === name);
  const highest = Math.max(-1, ...all.map((container) => container.attempt));
  assert.equal(attempt, highest + 1, "restarts are counted one by one");
  const containers = containersOf(model.pod);
  const position = containers.findIndex((container) => container.name === name);
  if (containers[position]?.role === "ephemeral") return;
  const [sandbox] = model.sandboxes;
  const hasMain = containers.some(
    (other) => other.role === "main" && sandbox?.containers.some((container) => container.name === other.name),
  );
  for (const before of containers.slice(0, position)) {
    const present = sandbox?.containers.find((container) => container.name === before.name);
    if (before.role === "init" && !hasMain) assert.equal(present?.exitCode, 0, `${before.name} is done before ${name}`);
    if (before.role === "sidecar" && !hasMain) {
      assert.equal(present?.state, "running", `${before.name} runs before ${name}`);
      assert.ok(!model.notStarted.has(before.name), `${before.name} has started before ${name}`);
    }
  }
}

function disturb(model: PlanModel, step: Exclude<Step, { kind: "plan" }>): void {
  const containers = containersOf(model.pod);
  const name = "index" in step ? (containers[step.index % containers.length]?.name ?? "") : "";
  if (step.kind === "exit") model.exit(name, step.exitCode);
  else if (step.kind === "lose") model.loseSandbox();
  else if (step.kind === "wait") model.now += step.ms;
  else if (step.kind === "unwell") {
    const running = model.containers().find((container) => container.name === name && container.state === "running");
    if (running !== undefined) model.unwell.set(running.id, { message: "unwell" });
  } else if (model.notStarted.has(name)) model.notStarted.delete(name);
  else model.notStarted.add(name);
}

test("whatever happens, one container of a name runs, in order, and restarts are counted", () => {
  fc.assert(
    fc.property(podArbitrary, fc.array(stepArbitrary, { maxLength: 60 }), (pod, steps) => {
      live(pod, steps);
    }),
    { numRuns: 400 },
  );
});

test("left alone, a pod comes to rest, and stays there", () => {
  fc.assert(
    fc.property(podArbitrary, fc.array(stepArbitrary, { maxLength: 40 }), (pod, steps) => {
      const model = live(pod, steps);
      model.notStarted.clear();
      model.rest();
      assert.deepEqual(model.plan().actions, []);
    }),
    { numRuns: 300 },
  );
});

test("a pod that has to end does so within its time, sidecars last, and nothing is started", () => {
  fc.assert(
    fc.property(podArbitrary, fc.array(stepArbitrary, { maxLength: 40 }), fc.nat({ max: 60 }), (pod, steps, grace) => {
      const model = live(pod, steps);
      model.end = { cause: "deleted", since: model.now, graceSeconds: grace };
      const began = model.now;
      for (let round = 0; !model.plan().ended; round++) {
        assert.ok(round < 50, "it ends");
        const { actions, wakeAt } = model.plan();
        for (const action of actions) {
          assert.notEqual(action.do, "start");
          assert.notEqual(action.do, "runSandbox");
          model.carryOut(action);
        }
        if (actions.length === 0 && wakeAt !== undefined) model.now = wakeAt;
      }
      assert.deepEqual(model.running(), []);
      assert.ok(model.now - began <= grace * 1000 + 2000);
    }),
    { numRuns: 300 },
  );
});

test("restart delays grow to five minutes and never fall below what came before, until a long life resets them", () => {
  fc.assert(
    fc.property(fc.array(fc.boolean(), { minLength: 1, maxLength: 15 }), (longLives) => {
      const pod: Pod = {
        apiVersion: "v1",
        kind: "Pod",
        metadata: { name: "pod", namespace: "default", uid: "uid" },
        spec: { containers: [{ name: "m0" }] },
      };
      const model = new PlanModel(pod);
      model.rest();
      let expected = 0;
      for (const isLong of longLives) {
        model.now += isLong ? 700_000 : 1_000;
        if (isLong) expected = 0;
        model.exit("m0", 1);
        const ended = model.now;
        model.rest();
        assert.equal(model.now - ended, expected, "it waits for as long as it has to");
        expected = expected === 0 ? 10_000 : Math.min(expected * 2, 300_000);
      }
    }),
  );
});
