import assert from "node:assert/strict";
import { test } from "node:test";
import type { PodSpec } from "./pod-containers.ts";
import { newPod, PodBench } from "./testing/pod-bench.ts";

const restartPolicyRules = [{ action: "RestartAllContainers", exitCodes: { operator: "In", values: [88] } }];

/** A main container whose exit code 88 restarts everything, beside others that are never restarted by themselves. */
const spec = {
  restartPolicy: "Never",
  terminationGracePeriodSeconds: 5,
  initContainers: [
    { name: "init", image: "init:1" },
    { name: "side", image: "side:1", restartPolicy: "Always" },
  ],
  containers: [
    { name: "watcher", image: "watcher:1", restartPolicy: "Never", restartPolicyRules },
    { name: "web", image: "web:1" },
    { name: "once", image: "once:1" },
  ],
} as unknown as PodSpec;

function exit(bench: PodBench, name: string, code: number): void {
  const container = bench.runtime.running(name);
  assert.ok(container, `${name} runs`);
  bench.runtime.exit(container.id, code);
}

function starts(bench: PodBench): string[] {
  return bench.runtime.calls.filter((call) => call.startsWith("startContainer")).map((call) => call.slice(15));
}

test("a container may restart all of its pod: everything ends, then init containers run again", async () => {
  await using bench = await PodBench.start();
  await bench.run(newPod("web", spec));
  exit(bench, "init", 0);
  await bench.settle();
  exit(bench, "once", 0);
  await bench.settle();
  assert.deepEqual(starts(bench), ["init 0", "side 0", "watcher 0", "web 0", "once 0"]);

  exit(bench, "watcher", 88);
  await bench.settle();
  assert.deepEqual(starts(bench).slice(5), ["init 1"], "nothing else before the init container is done");
  const stopped = bench.runtime.calls.filter((call) => call.startsWith("stopContainer"));
  assert.deepEqual(stopped.toSorted(), ["stopContainer side 5", "stopContainer web 5"]);
  exit(bench, "init", 0);
  await bench.settle();
  assert.deepEqual(starts(bench).slice(5), ["init 1", "side 1", "watcher 1", "web 1", "once 1"]);
  assert.equal(bench.runtime.sandboxes.length, 1, "the sandbox stays, and the pod's address with it");
  assert.equal(bench.status("web").phase, "Running");
  assert.deepEqual(bench.runtime.twins, []);

  await bench.stopNode();
  bench.startNode();
  await bench.advance(5);
  assert.equal(starts(bench).length, 10, "a restart of the node restarts nothing again");

  for (const name of ["watcher", "web", "once"]) exit(bench, name, 0);
  await bench.settle();
  assert.equal(bench.status("web").phase, "Succeeded");
});

test("a pod that restarts as a whole again and again has to wait", async () => {
  await using bench = await PodBench.start();
  const { initContainers: _, ...plain } = spec;
  await bench.run(newPod("web", plain));
  exit(bench, "watcher", 88);
  await bench.settle();
  exit(bench, "watcher", 88);
  await bench.settle();
  assert.equal(bench.runtime.running("web"), undefined);
  const watcher = bench.status("web").containerStatuses?.find(({ name }) => name === "watcher");
  assert.equal(watcher?.state?.waiting?.reason, "CrashLoopBackOff");
  assert.equal(bench.status("web").phase, "Running");
  await bench.advance(11);
  for (const name of ["watcher", "web", "once"]) assert.equal(bench.runtime.running(name)?.attempt, 2, name);
});

test("another exit code of the same container restarts nothing", async () => {
  await using bench = await PodBench.start();
  const { initContainers: _, ...plain } = spec;
  await bench.run(newPod("web", plain));
  exit(bench, "watcher", 1);
  await bench.settle();
  assert.equal(bench.runtime.running("watcher"), undefined);
  assert.equal(bench.runtime.running("web")?.attempt, 0);
});
