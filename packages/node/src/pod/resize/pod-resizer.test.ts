import assert from "node:assert/strict";
import { test } from "node:test";
import type { Pod } from "@fjord/kube";
import type { Container } from "../pod-containers.ts";
import { newPod, PodBench } from "../testing/pod-bench.ts";

type Resources = NonNullable<Container["resources"]>;

const small: Resources = { requests: { cpu: "1", memory: "64Mi" }, limits: { cpu: "1", memory: "64Mi" } };

function sized(name: string, resources: Resources, more: Partial<Container> = {}): Pod {
  return newPod(name, { containers: [{ name: "web", image: "web:1", resources, ...more }] });
}

async function resize(bench: PodBench, name: string, resources: Resources): Promise<void> {
  const pod = bench.api.pods.get(`uid-${name}`);
  assert.ok(pod?.spec);
  const generation = (pod.metadata.generation ?? 0) + 1;
  const containers = pod.spec.containers.map((container) => ({ ...container, resources }));
  await bench.run({ ...pod, metadata: { ...pod.metadata, generation }, spec: { ...pod.spec, containers } });
}

function conditionOf(bench: PodBench, name: string, type: string) {
  return bench.status(name).conditions?.find((condition) => condition.type === type);
}

test("a running container is given what its pod asks for, without a restart", async () => {
  await using bench = await PodBench.start();
  await bench.run(sized("web", small));
  assert.deepEqual(bench.status("web").containerStatuses?.[0]?.resources, small);
  const large = { requests: { cpu: "2", memory: "64Mi" }, limits: { cpu: "2", memory: "64Mi" } };
  await resize(bench, "web", large);
  const status = bench.status("web").containerStatuses?.[0];
  assert.equal(bench.runtime.running("web")?.resources?.cpuLimit, 2000);
  assert.equal(status?.restartCount, 0);
  assert.deepEqual(status?.resources, large);
  assert.deepEqual(status?.allocatedResources, large.requests);
  assert.equal(conditionOf(bench, "web", "PodResizeInProgress"), undefined);
  assert.equal(bench.status("web").observedGeneration, 2);
  assert.ok(bench.reasons().includes("ResizeCompleted"));
});

test("what was given while a container ran is known after a restart of the node", async () => {
  await using bench = await PodBench.start();
  await bench.run(sized("web", small));
  await resize(bench, "web", { requests: { cpu: "2" } });
  const { length } = bench.runtime.calls;
  await bench.stopNode();
  bench.startNode();
  await bench.settle();
  assert.equal(bench.runtime.calls.length, length);
});

test("a container whose policy says so is restarted with its new size", async () => {
  await using bench = await PodBench.start();
  const resizePolicy = [{ resourceName: "memory", restartPolicy: "RestartContainer" }];
  await bench.run(sized("web", small, { resizePolicy }));
  await resize(bench, "web", { requests: { memory: "128Mi" }, limits: { memory: "128Mi" } });
  assert.equal(bench.status("web").containerStatuses?.[0]?.restartCount, 1);
  assert.equal(bench.runtime.running("web")?.resources?.memoryLimit, 128 * 2 ** 20);
  assert.equal(conditionOf(bench, "web", "PodResizeInProgress"), undefined);
  assert.ok(bench.events.some(({ message }) => message === "Container web resize requires restart"));
});

test("what the node can never give is infeasible, what others have at the moment is deferred until they go", async () => {
  await using bench = await PodBench.start();
  await bench.run(sized("web", small));
  await resize(bench, "web", { requests: { cpu: "100" } });
  assert.equal(conditionOf(bench, "web", "PodResizePending")?.reason, "Infeasible");
  assert.deepEqual(bench.status("web").containerStatuses?.[0]?.resources, small);

  await bench.run(sized("other", { requests: { cpu: "2" } }));
  await resize(bench, "web", { requests: { cpu: "3" } });
  assert.equal(conditionOf(bench, "web", "PodResizePending")?.reason, "Deferred");
  bench.api.markDeleted("uid-other", 0);
  await bench.settle();
  assert.equal(conditionOf(bench, "web", "PodResizePending"), undefined);
  assert.equal(bench.runtime.running("web")?.resources?.cpuRequest, 3000);
});

test("a resize that the runtime refuses is told and tried again", async () => {
  await using bench = await PodBench.start();
  await bench.run(sized("web", small));
  bench.runtime.failures.set("updateResources", [new Error("memory is in use")]);
  await resize(bench, "web", { requests: { cpu: "2" } });
  const condition = conditionOf(bench, "web", "PodResizeInProgress");
  assert.deepEqual([condition?.reason, condition?.message], ["Error", "memory is in use"]);
  await bench.advance(2);
  assert.equal(conditionOf(bench, "web", "PodResizeInProgress"), undefined);
  assert.equal(bench.runtime.running("web")?.resources?.cpuRequest, 2000);
});

test("a pod that is sized as a whole is widened first and narrowed last", async () => {
  await using bench = await PodBench.start();
  const sizes: (number | undefined)[] = [];
  bench.runtime.resizeSandbox = async (_id, config) => {
    sizes.push(config.resources?.cpuLimit);
  };
  const whole = (cpu: string) => ({ requests: { cpu }, limits: { cpu } });
  await bench.run(newPod("web", { resources: whole("1") }));
  for (const cpu of ["2", "1"]) {
    const pod = bench.api.pods.get("uid-web");
    assert.ok(pod?.spec);
    const generation = (pod.metadata.generation ?? 0) + 1;
    await bench.run({
      ...pod,
      metadata: { ...pod.metadata, generation },
      spec: { ...pod.spec, resources: whole(cpu) },
    });
    assert.deepEqual(bench.status("web").allocatedResources, { cpu });
    assert.deepEqual(bench.status("web").resources, whole(cpu));
    assert.equal(conditionOf(bench, "web", "PodResizeInProgress"), undefined);
  }
  assert.equal(sizes[0], 2000, "room before it is used");
  assert.ok(sizes.lastIndexOf(2000) < sizes.lastIndexOf(1000), "and given back at the end");
});

test("a pod that cannot be widened is looked after all the same", async () => {
  await using bench = await PodBench.start();
  let isBroken = true;
  bench.runtime.resizeSandbox = async () => {
    if (isBroken) throw new Error("no such control group");
  };
  await bench.run(sized("web", small));
  await resize(bench, "web", { requests: { cpu: "2" } });
  const pending = conditionOf(bench, "web", "PodResizePending");
  assert.deepEqual([pending?.reason, pending?.message], ["Deferred", "no such control group"]);
  assert.equal(bench.status("web").observedGeneration, 2);
  isBroken = false;
  await bench.advance(3);
  assert.equal(conditionOf(bench, "web", "PodResizePending"), undefined);
  assert.equal(bench.runtime.running("web")?.resources?.cpuRequest, 2000);
});
