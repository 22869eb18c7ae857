import assert from "node:assert/strict";
import { test } from "node:test";
import { quickSimulatedSpecs } from "./quick-simulated-specs.ts";
import { simulatedSpecs } from "./simulated-specs.ts";
import { exactly, suiteNames, suites, suitesOf } from "./suites.ts";

const selected = (name: string) => suites.node?.focus.some((pattern) => new RegExp(pattern).test(name));

test("nodes are judged by their own conformance specs, and by volumes that need no driver", () => {
  for (const name of [
    "[sig-node] Pods should be updated [NodeConformance] [Conformance]",
    "[sig-storage] EmptyDir volumes should support (root,0644,tmpfs) [LinuxOnly] [NodeConformance] [Conformance]",
    "[sig-storage] Projected downwardAPI should provide podname only [NodeConformance] [Conformance]",
    "[sig-storage] Subpath Atomic writer volumes should support subpaths with secret pod [Conformance]",
  ])
    assert.ok(selected(name), name);
  for (const name of [
    "[sig-node] Pods should cap back-off at MaxContainerBackOff [Slow] [NodeConformance]",
    "[sig-storage] CSINodes CSI Conformance should run through the lifecycle of a csinode [Conformance]",
    "[sig-apps] Job should delete a job [Conformance]",
  ])
    assert.ok(!selected(name), name);
});

test("a pattern of names matches these and nothing else", () => {
  const names = ["[sig-node] Probing container should *not* be restarted (a|b)", "[sig-node] Pods should run. [x]"];
  const pattern = new RegExp(exactly(names));
  for (const name of names) {
    assert.match(name, pattern);
    assert.doesNotMatch(`${name} again`, pattern);
  }
  assert.doesNotMatch("[sig-node] Pods should run! [x]", pattern);
});

test("microkube is judged by what a real control plane passes with simulated nodes", () => {
  const { focus = [], passed } = suites["microkube-simulated"] ?? {};
  assert.equal(passed, simulatedSpecs);
  for (const name of simulatedSpecs) assert.match(`Kubernetes e2e suite ${name}`, new RegExp(focus[0] ?? ""));
  for (const name of quickSimulatedSpecs) assert.ok(simulatedSpecs.includes(name), name);
});

test("with containers it is judged by the rest of the same groups, and by nothing twice", () => {
  const { focus = [], skip = [] } = suites["microkube-containers"] ?? {};
  const isRun = (name: string) =>
    [focus, skip].map((patterns) =>
      patterns.some((pattern) => new RegExp(pattern).test(`Kubernetes e2e suite ${name}`)),
    );
  assert.deepEqual(isRun("[sig-cli] Kubectl logs logs should be able to retrieve and filter logs [Conformance]"), [
    true,
    false,
  ]);
  for (const name of simulatedSpecs) assert.deepEqual(isRun(name), [true, true], name);
  assert.deepEqual(isRun("[sig-apps] Job should run a job with something new"), [false, false]);
});

test("one name may stand for several suites, each of which has its own", () => {
  const names = (name: string) => suitesOf(name)?.map((part) => part.name);
  assert.deepEqual(names("microkube"), ["microkube-simulated", "microkube-containers"]);
  assert.equal(names("none"), undefined);
  for (const name of suiteNames) assert.ok((names(name) ?? []).length > 0, name);
});
