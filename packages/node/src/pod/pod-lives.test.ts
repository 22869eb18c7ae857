import assert from "node:assert/strict";
import { stat } from "node:fs/promises";
import { test } from "node:test";
import type { Pod } from "@fjord/kube";
import type { ContainerStatus, PodStatus } from "./pod-containers.ts";
import { podDirectory, terminationMessageFile } from "./pod-directory.ts";
import { FakeImages, FakeRuntime } from "./testing/fake-runtime.ts";
import { newPod, PodBench } from "./testing/pod-bench.ts";

const image = { id: "sha256:1", tags: [], digests: [], size: 1, pinned: false };

function first(bench: PodBench, name: string): ContainerStatus {
  const status = bench.status(name).containerStatuses?.[0];
  assert.ok(status, `${name} has a container status`);
  return status;
}

function condition(bench: PodBench, name: string, type: string): string | undefined {
  return bench.status(name).conditions?.find((found) => found.type === type)?.status;
}

test("a container that keeps failing is restarted at once, then after ten seconds, then after twenty", async () => {
  await using bench = await PodBench.start();
  await bench.run(newPod("web"));
  bench.runtime.exit(bench.runtime.running("web")?.id ?? "", 1);
  await bench.settle();
  assert.equal(first(bench, "web").restartCount, 1);
  assert.equal(first(bench, "web").lastState?.terminated?.exitCode, 1);

  for (const [restarts, seconds] of [
    [2, 10],
    [3, 20],
    [4, 40],
  ] as const) {
    bench.runtime.exit(bench.runtime.running("web")?.id ?? "", 1);
    await bench.settle();
    const { state, restartCount } = first(bench, "web");
    assert.equal(state?.waiting?.reason, "CrashLoopBackOff");
    assert.equal(
      state?.waiting?.message,
      `back-off ${seconds}s restarting failed container=web pod=web_default(uid-web)`,
    );
    assert.equal(restartCount, restarts - 1);
    assert.equal(bench.status("web").phase, "Running");
    await bench.advance(seconds - 2);
    assert.equal(bench.runtime.running("web"), undefined, "it waits");
    await bench.advance(2);
    assert.equal(first(bench, "web").restartCount, restarts);
    assert.ok(first(bench, "web").state?.running);
  }
  assert.ok(bench.reasons().includes("BackOff"));
  const kept = bench.runtime.sandboxes.flatMap(({ containers }) => containers.map(({ attempt }) => attempt));
  assert.deepEqual(kept, [4, 3], "one dead container is kept, for its log");
});

test("what cannot be removed is tried again ever more rarely, and removed when it can be", async () => {
  await using bench = await PodBench.start();
  await bench.run(newPod("web"));
  const errors = ["removeContainer", "removeSandbox"].map((name) => {
    const each = Array.from({ length: 500 }, () => new Error("device or resource busy"));
    bench.runtime.failures.set(name, each);
    return each;
  });
  bench.runtime.loseSandbox(bench.runtime.sandboxes[0]?.id ?? "");
  await bench.settle();
  for (let restart = 0; restart < 3; restart++) {
    bench.runtime.exit(bench.runtime.running("web")?.id ?? "", 1);
    await bench.advance(30);
  }
  await bench.advance(120);
  const tries = bench.runtime.calls.filter((call) => call.startsWith("remove")).length;
  assert.ok(tries >= 5 && tries < 100, `tried ${tries} times`);

  for (const each of errors) each.length = 0;
  await bench.advance(120);
  const kept = bench.runtime.sandboxes.map(({ containers }) => containers.length);
  assert.deepEqual(kept, [2], "one sandbox, its container and the one before");
});

test("restart counts and back-off go on over restarts of the node", async () => {
  await using bench = await PodBench.start();
  await bench.run(newPod("web"));
  for (let restart = 0; restart < 2; restart++) {
    bench.runtime.exit(bench.runtime.running("web")?.id ?? "", 1);
    await bench.advance(11);
  }
  bench.runtime.exit(bench.runtime.running("web")?.id ?? "", 1);
  await bench.stopNode();
  bench.startNode();
  await bench.settle();
  assert.match(first(bench, "web").state?.waiting?.message ?? "", /back-off 20s/);
  await bench.advance(21);
  assert.equal(first(bench, "web").restartCount, 3);
});

test("a restart of the node leaves running pods alone and ready", async () => {
  await using bench = await PodBench.start();
  const readinessProbe = { exec: { command: ["ready"] }, periodSeconds: 5 };
  await bench.run(newPod("web", { containers: [{ name: "web", image: "web:1", readinessProbe }] }));
  assert.equal(condition(bench, "web", "Ready"), "True");
  const { length } = bench.runtime.calls.filter((call) => !call.startsWith("exec"));
  const patches = bench.api.patches.length;
  await bench.stopNode();
  bench.startNode();
  await bench.settle();
  assert.equal(bench.runtime.calls.filter((call) => !call.startsWith("exec")).length, length);
  assert.equal(bench.api.patches.length, patches, "the status that is there already is not written again");
  assert.equal(condition(bench, "web", "Ready"), "True");
});

test("pods that are not to be restarted end as their containers did", async () => {
  await using bench = await PodBench.start();
  for (const [name, exitCode, phase, reason] of [
    ["good", 0, "Succeeded", "PodCompleted"],
    ["bad", 3, "Failed", "PodFailed"],
  ] as const) {
    await bench.run(newPod(name, { restartPolicy: "Never" }));
    bench.runtime.exit(bench.runtime.running("web", `uid-${name}`)?.id ?? "", exitCode);
    await bench.settle();
    const status = bench.status(name);
    assert.equal(status.phase, phase);
    assert.equal(status.containerStatuses?.[0]?.state?.terminated?.exitCode, exitCode);
    assert.equal(status.conditions?.find(({ type }) => type === "Ready")?.reason, reason);
    assert.ok(status.podIP, "its address is remembered");
    const sandbox = bench.runtime.sandboxes.find(({ pod }) => pod.name === name);
    assert.equal(sandbox?.state, "notReady", "its sandbox is stopped");
    assert.equal(sandbox?.containers.length, 1, "its container is kept for its log");
  }
});

test("init containers run one after the other, and main ones only after all of them", async () => {
  await using bench = await PodBench.start();
  await bench.run(newPod("web", { initContainers: [{ name: "a" }, { name: "b" }] }));
  assert.equal(condition(bench, "web", "Initialized"), "False");
  assert.equal(first(bench, "web").state?.waiting?.reason, "PodInitializing");
  assert.equal(bench.status("web").phase, "Pending");
  assert.equal(bench.runtime.running("b"), undefined);
  bench.runtime.exit(bench.runtime.running("a")?.id ?? "", 0);
  await bench.settle();
  assert.equal(bench.runtime.running("web"), undefined);
  bench.runtime.exit(bench.runtime.running("b")?.id ?? "", 0);
  await bench.settle();
  assert.equal(bench.status("web").phase, "Running");
  assert.equal(condition(bench, "web", "Initialized"), "True");
  assert.deepEqual(
    bench.status("web").initContainerStatuses?.map(({ ready }) => ready),
    [true, true],
  );
});

test("a failing init container is repeated, or fails the pod where it may not be", async () => {
  await using bench = await PodBench.start();
  await bench.run(newPod("always", { initContainers: [{ name: "a" }] }));
  bench.runtime.exit(bench.runtime.running("a")?.id ?? "", 1);
  await bench.settle();
  assert.equal(bench.status("always").initContainerStatuses?.[0]?.restartCount, 1);
  assert.equal(bench.status("always").phase, "Pending");

  await bench.run(newPod("never", { initContainers: [{ name: "i" }], restartPolicy: "Never" }));
  bench.runtime.exit(bench.runtime.running("i")?.id ?? "", 1);
  await bench.settle();
  assert.equal(bench.status("never").phase, "Failed");
  const initialized = bench.status("never").conditions?.find(({ type }) => type === "Initialized");
  assert.deepEqual([initialized?.status, initialized?.reason], ["False", "ContainersNotInitialized"]);
  assert.ok(first(bench, "never").state?.waiting, "the main container never ran");
});

test("a container may write its last words whoever it runs as", async () => {
  await using bench = await PodBench.start();
  await bench.run(newPod("web"));
  const file = terminationMessageFile(podDirectory(bench.settings.stateDirectory, "uid-web"), "web", 0);
  assert.equal((await stat(file)).mode & 0o777, 0o666);
});

test("a sidecar must have started before others do, and ends after them", async () => {
  await using bench = await PodBench.start();
  let isStarted = false;
  bench.runtime.execResult = () => (isStarted ? 0 : 1);
  const startupProbe = { exec: { command: ["started"] }, periodSeconds: 1, failureThreshold: 100 };
  const sidecars = [
    { name: "one", restartPolicy: "Always", startupProbe },
    { name: "two", restartPolicy: "Always" },
  ];
  await bench.run(newPod("web", { initContainers: sidecars }));
  assert.equal(bench.runtime.running("two"), undefined);
  isStarted = true;
  await bench.advance(2);
  assert.ok(bench.runtime.running("two"));
  assert.equal(condition(bench, "web", "Ready"), "True");
  bench.api.markDeleted("uid-web", 30);
  await bench.settle();
  const stops = bench.runtime.calls
    .filter((call) => call.startsWith("stopContainer"))
    .map((call) => call.split(" ")[1]);
  assert.deepEqual(stops, ["web", "two", "one"]);
  assert.equal(bench.api.pods.size, 0);
});

test("sidecars are ended when the main containers have done their work", async () => {
  await using bench = await PodBench.start();
  const initContainers = [{ name: "side", restartPolicy: "Always" }];
  await bench.run(newPod("job", { initContainers, restartPolicy: "Never" }));
  bench.runtime.exit(bench.runtime.running("web")?.id ?? "", 0);
  await bench.settle();
  assert.equal(bench.runtime.running("side"), undefined);
  assert.equal(bench.status("job").phase, "Succeeded");
});

test("a failing liveness probe restarts the container with the probe's own grace period", async () => {
  await using bench = await PodBench.start();
  bench.runtime.execResult = (command) => (command[0] === "live" ? 1 : 0);
  const livenessProbe = {
    exec: { command: ["live"] },
    periodSeconds: 1,
    failureThreshold: 2,
    terminationGracePeriodSeconds: 7,
  };
  await bench.run(newPod("web", { containers: [{ name: "web", image: "web:1", livenessProbe }] }));
  await bench.advance(1);
  bench.runtime.execResult = () => 0;
  await bench.advance(1);
  assert.ok(bench.runtime.calls.includes("stopContainer web 7"));
  assert.equal(first(bench, "web").restartCount, 1);
  const messages = bench.events.map(({ message }) => message);
  assert.ok(messages.includes("Container web failed liveness probe, will be restarted"));
  assert.ok(bench.events.some(({ reason }) => reason === "Unhealthy"));
});

test("readiness follows its probe, and holds back the pod's Ready condition", async () => {
  await using bench = await PodBench.start();
  let isReady = false;
  bench.runtime.execResult = () => (isReady ? 0 : 1);
  const readinessProbe = { exec: { command: ["ready"] }, periodSeconds: 1, failureThreshold: 1 };
  await bench.run(newPod("web", { containers: [{ name: "web", image: "web:1", readinessProbe }] }));
  assert.equal(bench.status("web").phase, "Running");
  assert.equal(condition(bench, "web", "Ready"), "False");
  isReady = true;
  await bench.advance(2);
  assert.equal(condition(bench, "web", "Ready"), "True");
  isReady = false;
  await bench.advance(2);
  assert.equal(condition(bench, "web", "ContainersReady"), "False");
  assert.equal(first(bench, "web").restartCount, 0);
});

test("readiness gates of others are asked for and kept", async () => {
  await using bench = await PodBench.start();
  await bench.run(newPod("web", { readinessGates: [{ conditionType: "example.com/open" }] }));
  assert.equal(condition(bench, "web", "Ready"), "False");
  assert.equal(condition(bench, "web", "ContainersReady"), "True");
  const pod = bench.api.pods.get("uid-web");
  assert.ok(pod);
  const conditions = [...(pod.status?.conditions ?? []), { type: "example.com/open", status: "True" }];
  await bench.run({ ...pod, status: { ...pod.status, conditions } });
  assert.equal(condition(bench, "web", "Ready"), "True");
  assert.equal(condition(bench, "web", "example.com/open"), "True");
});

test("a container counts as running once its postStart hook has ended, and is replaced where it fails", async () => {
  await using bench = await PodBench.start();
  const hook = Promise.withResolvers<number>();
  bench.runtime.execResult = () => hook.promise;
  const lifecycle = { postStart: { exec: { command: ["hook"] } } };
  await bench.run(newPod("web", { containers: [{ name: "web", image: "web:1", lifecycle }] }));
  assert.equal(first(bench, "web").state?.waiting?.reason, "ContainerCreating");
  bench.runtime.execResult = () => 0;
  hook.resolve(1);
  await bench.settle();
  assert.equal(first(bench, "web").restartCount, 1);
  assert.ok(bench.reasons().includes("FailedPostStartHook"));
  assert.equal(condition(bench, "web", "Ready"), "True");
});

test("a preStop hook runs first, and its time counts", async () => {
  await using bench = await PodBench.start();
  const hook = Promise.withResolvers<number>();
  bench.runtime.execResult = () => hook.promise;
  const lifecycle = { preStop: { exec: { command: ["bye"] } } };
  await bench.run(newPod("web", { containers: [{ name: "web", image: "web:1", lifecycle }] }));
  bench.api.markDeleted("uid-web", 30);
  await bench.advance(10);
  assert.ok(bench.runtime.running("web"), "the hook is under way");
  hook.resolve(0);
  await bench.settle();
  assert.ok(
    bench.runtime.calls.some((call) => /^stopContainer web (19|20)$/.test(call)),
    bench.runtime.calls.join("\n"),
  );
  assert.equal(bench.api.pods.size, 0);
});

test("a preStop hook for which the runtime was away runs when it is back", async () => {
  await using bench = await PodBench.start();
  const commands: string[] = [];
  const { failures } = bench.runtime;
  bench.runtime.execResult = ([command = ""]) => {
    commands.push(command);
    return commands.length === 1 ? Promise.reject(new Error("away")) : 0;
  };
  const lifecycle = { preStop: { exec: { command: ["bye"] } } };
  await bench.run(newPod("web", { containers: [{ name: "web", image: "web:1", lifecycle }] }));
  failures.set("health", [new Error("away")]);
  failures.set("list", [new Error("away"), new Error("away")]);
  bench.api.markDeleted("uid-web", 30);
  await bench.advance(10);
  assert.deepEqual(commands, ["bye", "bye"]);
  assert.ok(!bench.reasons().includes("FailedPreStopHook"));
  assert.equal(bench.api.pods.size, 0);
});

test("a preStop hook that does not end is cut off when the grace period is over", async () => {
  await using bench = await PodBench.start();
  bench.runtime.execResult = () => new Promise(() => {});
  const lifecycle = { preStop: { exec: { command: ["bye"] } } };
  await bench.run(newPod("web", { containers: [{ name: "web", image: "web:1", lifecycle }] }));
  bench.api.markDeleted("uid-web", 5);
  await bench.advance(8);
  assert.ok(bench.reasons().includes("FailedPreStopHook"));
  assert.equal(bench.api.pods.size, 0);
});

test("how a deleted pod ended is known until the API knows it, over a restart of the node too", async () => {
  await using bench = await PodBench.start();
  await bench.run(newPod("web"));
  bench.api.isAway = true;
  bench.runtime.exit(bench.runtime.running("web")?.id ?? "", 42);
  bench.api.markDeleted("uid-web", 5);
  await bench.advance(30);
  await bench.stopNode();
  bench.startNode();
  await bench.advance(5);
  assert.equal(bench.api.pods.size, 1);
  bench.api.isAway = false;
  await bench.advance(15);
  assert.equal(bench.api.pods.size, 0);
  assert.equal(bench.runtime.sandboxes.length, 0);
  assert.equal(bench.api.patches.at(-1)?.containerStatuses?.[0]?.state?.terminated?.exitCode, 42);
});

test("a second deletion with less time cuts the first one short", async () => {
  await using bench = await PodBench.start();
  bench.runtime.obeysStop = false;
  await bench.run(newPod("web"));
  bench.api.markDeleted("uid-web", 600);
  await bench.advance(5);
  assert.ok(bench.runtime.running("web"));
  bench.api.markDeleted("uid-web", 1);
  await bench.advance(3);
  assert.equal(bench.api.pods.size, 0);
  assert.equal(bench.events.filter(({ reason }) => reason === "Killing").length, 1);
});

test("a pod that was deleted by force is ended, and nothing is left of it", async () => {
  await using bench = await PodBench.start();
  await bench.run(newPod("web"));
  bench.api.drop("uid-web");
  await bench.settle();
  assert.equal(bench.runtime.sandboxes.length, 0);
  assert.equal(bench.manager.pods().length, 0);
  assert.ok(bench.api.volumeCalls.includes("remove uid-web"));
});

test("containers of pods that went while the node was away are ended, once the API's word is there", async () => {
  await using bench = await PodBench.start({ tidyMs: 5_000 });
  await bench.run(newPod("web"));
  await bench.stopNode();
  bench.api.isCurrent = false;
  bench.api.pods.clear();
  bench.startNode();
  await bench.advance(20);
  assert.ok(bench.runtime.running("web"), "nobody has said that it is gone");
  bench.api.isCurrent = true;
  await bench.advance(6);
  assert.equal(bench.runtime.sandboxes.length, 0);
});

test("a pod whose time is over fails", async () => {
  await using bench = await PodBench.start();
  await bench.run(newPod("web", { activeDeadlineSeconds: 60 }));
  await bench.advance(50);
  assert.equal(bench.status("web").phase, "Running");
  await bench.advance(15);
  assert.equal(bench.status("web").phase, "Failed");
  assert.equal(bench.status("web").reason, "DeadlineExceeded");
  assert.equal(bench.runtime.running("web"), undefined);
});

test("an evicted pod fails, says why, and stays failed over a restart of the node", async () => {
  await using bench = await PodBench.start();
  await bench.run(newPod("web"));
  bench.manager.evict("uid-web", "The node was low on resource: memory.");
  await bench.settle();
  assert.equal(bench.status("web").phase, "Failed");
  assert.equal(bench.status("web").reason, "Evicted");
  assert.equal(condition(bench, "web", "DisruptionTarget"), "True");
  await bench.stopNode();
  bench.startNode();
  await bench.settle();
  assert.equal(bench.status("web").phase, "Failed");
  assert.equal(bench.status("web").reason, "Evicted");
  assert.equal(bench.runtime.running("web"), undefined);
});

test("what the runtime cannot honour waits with all its reasons, told once, also over a restart of the node", async () => {
  await using bench = await PodBench.start();
  bench.runtime.objectionsTo = () => ["no host network here", "no privileged containers here"];
  await bench.run(newPod("web", { initContainers: [{ name: "init" }], restartPolicy: "Never" }));
  const message = "no host network here; no privileged containers here";
  const assertWaits = () => {
    const { phase, reason, initContainerStatuses = [], containerStatuses = [] } = bench.status("web");
    // Were it to fail, its ReplicaSet would make another at once.
    assert.deepEqual([phase, reason], ["Pending", undefined]);
    const states = [...initContainerStatuses, ...containerStatuses].map(({ state }) => state);
    assert.deepEqual(states, Array(2).fill({ waiting: { reason: "RuntimeUnsupported", message } }));
    assert.equal(bench.runtime.sandboxes.length, 0);
  };
  assertWaits();
  await bench.advance(900);
  assertWaits();
  const told = () => bench.events.filter(({ reason }) => reason === "RuntimeUnsupported");
  assert.deepEqual(
    told().map((event) => [event.type, event.message]),
    [["Warning", message]],
  );

  await bench.stopNode();
  bench.startNode();
  await bench.settle();
  assertWaits();
});

test("what the runtime could not honour begins once it can, or the pod has changed", async () => {
  await using bench = await PodBench.start();
  bench.runtime.objectionsTo = () => ["no program script here"];
  await bench.run(newPod("web"));
  bench.runtime.objectionsTo = () => [];
  await bench.advance(301);
  assert.equal(bench.status("web").phase, "Running");

  bench.runtime.objectionsTo = (pod) => ((pod as Pod).metadata.annotations?.["odd"] ? ["not understood"] : []);
  const odd = newPod("odd");
  await bench.run({ ...odd, metadata: { ...odd.metadata, annotations: { odd: "yes" } } });
  assert.equal(first(bench, "odd").state?.waiting?.message, "not understood");
  await bench.run(odd);
  assert.equal(bench.status("odd").phase, "Running");
});

test("a pod that the runtime cannot honour keeps its room, ends at its deadline, and goes when deleted", async () => {
  await using bench = await PodBench.start();
  bench.runtime.objectionsTo = (pod) => ((pod as Pod).metadata.name === "two" ? [] : ["not here"]);
  const big = { containers: [{ name: "web", image: "web:1", resources: { requests: { cpu: "3" } } }] };
  await bench.run(newPod("one", { ...big, activeDeadlineSeconds: 20 }));
  await bench.run(newPod("two", big));
  assert.equal(bench.status("two").reason, "OutOfcpu");
  await bench.advance(21);
  assert.deepEqual([bench.status("one").phase, bench.status("one").reason], ["Failed", "DeadlineExceeded"]);

  await bench.run(newPod("three"));
  bench.api.markDeleted("uid-three", 5);
  await bench.settle();
  assert.equal(bench.api.pods.has("uid-three"), false);
});

test("a pod that has run is not held back by a node that lost its sandbox and has become stricter", async () => {
  await using bench = await PodBench.start();
  await bench.run(newPod("web"));
  await bench.stopNode();
  bench.runtime.sandboxes.length = 0;
  bench.runtime.objectionsTo = () => ["no longer"];
  bench.startNode();
  await bench.settle();
  assert.equal(bench.status("web").phase, "Running");
});

test("a pod that runs is not refused by a node that has become stricter", async () => {
  await using bench = await PodBench.start();
  await bench.run(newPod("web"));
  await bench.stopNode();
  bench.runtime.objectionsTo = () => ["no longer"];
  bench.startNode();
  await bench.settle();
  assert.equal(bench.status("web").phase, "Running");
  assert.ok(bench.runtime.running("web"));
});

test("a pod for which there is no room is refused, and one after the other has gone is not", async () => {
  await using bench = await PodBench.start();
  const big = { containers: [{ name: "web", image: "web:1", resources: { requests: { cpu: "3" } } }] };
  await bench.run(newPod("one", big));
  await bench.run(newPod("two", big));
  assert.equal(bench.status("two").reason, "OutOfcpu");
  // Else kubectl would show why a container waits instead of why the pod was refused.
  assert.equal(bench.status("two").containerStatuses, undefined);
  assert.match(bench.status("two").message ?? "", /cpu, requested: 3000, used: 3000, capacity: 4000/);
  bench.api.markDeleted("uid-one", 0);
  await bench.settle();
  await bench.run(newPod("three", big));
  assert.equal(bench.status("three").phase, "Running");
});

test("a sandbox that has gone is made anew, and its containers count as restarted", async () => {
  await using bench = await PodBench.start();
  await bench.run(newPod("web", { initContainers: [{ name: "init" }] }));
  bench.runtime.exit(bench.runtime.running("init")?.id ?? "", 0);
  await bench.settle();
  bench.runtime.loseSandbox(bench.runtime.sandboxes[0]?.id ?? "");
  await bench.settle();
  assert.ok(bench.reasons().includes("SandboxChanged"));
  bench.runtime.exit(bench.runtime.running("init")?.id ?? "", 0);
  await bench.settle();
  assert.equal(bench.status("web").phase, "Running");
  assert.equal(first(bench, "web").restartCount, 1);
});

test("images are pulled once for all who wait, and failures are told and repeated", async () => {
  const images = new FakeImages();
  images.registry.set("web:1", image);
  await using bench = await PodBench.start({}, (clock) => new FakeRuntime(clock, images));
  bench.api.put(newPod("one"));
  bench.api.put(newPod("two"));
  await bench.settle();
  assert.deepEqual(images.pulls, ["web:1"]);
  assert.equal(bench.status("two").phase, "Running");

  await bench.run(newPod("bad", { containers: [{ name: "web", image: "none:1" }] }));
  await bench.advance(3);
  assert.equal(first(bench, "bad").state?.waiting?.reason, "ImagePullBackOff");
  assert.equal(bench.status("bad").phase, "Pending");
  assert.ok(bench.events.some(({ message }) => message === "Error: ErrImagePull"));
  images.registry.set("none:1", image);
  await bench.advance(11);
  assert.equal(bench.status("bad").phase, "Running");
});

test("images that may not be pulled, cannot be named, or would run as root are refused in the usual words", async () => {
  const images = new FakeImages();
  images.present.set("root:1", image);
  await using bench = await PodBench.start({}, (clock) => new FakeRuntime(clock, images));
  await bench.run(newPod("never", { containers: [{ name: "web", image: "none:1", imagePullPolicy: "Never" }] }));
  assert.equal(first(bench, "never").state?.waiting?.reason, "ErrImageNeverPull");
  await bench.run(newPod("odd", { containers: [{ name: "web", image: "UPPER CASE" }] }));
  assert.equal(first(bench, "odd").state?.waiting?.reason, "InvalidImageName");
  await bench.run(
    newPod("root", { containers: [{ name: "web", image: "root:1" }], securityContext: { runAsNonRoot: true } }),
  );
  const { waiting } = first(bench, "root").state ?? {};
  assert.equal(waiting?.reason, "CreateContainerConfigError");
  assert.match(waiting?.message ?? "", /container has runAsNonRoot and image will run as root/);
});

test("an ephemeral container joins a running pod and is never restarted", async () => {
  await using bench = await PodBench.start();
  await bench.run(newPod("web"));
  const pod = bench.api.pods.get("uid-web");
  assert.ok(pod?.spec);
  const ephemeralContainers = [{ name: "debug", image: "debug:1", targetContainerName: "web" }];
  await bench.run({ ...pod, spec: { ...pod.spec, ephemeralContainers } });
  const debug = bench.runtime.running("debug");
  assert.equal(debug?.config.targetContainer, bench.runtime.running("web")?.id);
  bench.runtime.exit(debug?.id ?? "", 0);
  await bench.advance(30);
  assert.equal(bench.runtime.running("debug"), undefined);
  assert.ok(bench.status("web").ephemeralContainerStatuses?.[0]?.state?.terminated);
  assert.equal(bench.status("web").phase, "Running");
});

test("an ephemeral container that cannot be honoured does not start, says why once, and leaves its pod alone", async () => {
  await using bench = await PodBench.start();
  await bench.run(newPod("web"));
  bench.runtime.judgeEphemeral = (_, { name }) => ({
    objections: name === "debug" ? ["no SELinux here", "no privileges here"] : [],
    notes: ["no profiles here"],
  });
  const devices = { volumeDevices: [{ name: "disk", devicePath: "/dev/x" }] };
  const ephemeralContainers = [{ name: "debug" }, { name: "raw", ...devices }, { name: "shell" }];
  await bench.run(newPod("web", { ephemeralContainers }));
  const states = () => bench.status("web").ephemeralContainerStatuses?.map(({ state }) => state) ?? [];
  assert.deepEqual(states()[0]?.waiting, {
    reason: "RuntimeUnsupported",
    message: "no SELinux here; no privileges here",
  });
  assert.equal(states()[1]?.waiting?.reason, "RuntimeUnsupported");
  assert.ok(states()[2]?.running);
  await bench.advance(900);
  const told = (path: string) => bench.events.filter(({ fieldPath }) => fieldPath === path);
  assert.deepEqual(
    told("spec.ephemeralContainers{debug}").map(({ type, reason, message }) => [type, reason, message]),
    [["Warning", "RuntimeUnsupported", "no SELinux here; no privileges here"]],
  );
  assert.deepEqual(
    told("spec.ephemeralContainers{shell}").map(({ reason }) => reason),
    ["Created", "Started", "RuntimeLimited"],
  );
  assert.ok(!bench.runtime.calls.some((call) => /createContainer (debug|raw)/.test(call)));
  assert.ok(bench.runtime.running("web"));
  assert.equal(bench.status("web").phase, "Running");
});

test("volumes that cannot be made are told of and tried again", async () => {
  await using bench = await PodBench.start();
  bench.api.volumeFailures.push(new Error('MountVolume.SetUp failed for volume "v" : no such ConfigMap'));
  await bench.run(newPod("web"));
  await bench.advance(1);
  assert.ok(
    bench.events.some(({ reason, message }) => reason === "FailedMount" && message.includes("no such ConfigMap")),
  );
  assert.equal(bench.status("web").phase, "Running");
});

test("volumes are refreshed when an object or the pod's labels change, and now and then", async () => {
  await using bench = await PodBench.start();
  await bench.run(newPod("web"));
  const count = () => bench.api.volumeCalls.filter((call) => call === "refresh web").length;
  bench.api.objectChanged("uid-web");
  await bench.settle();
  assert.equal(count(), 1);
  const pod = bench.api.pods.get("uid-web");
  assert.ok(pod);
  await bench.run({ ...pod, metadata: { ...pod.metadata, labels: { a: "b" } } });
  assert.equal(count(), 2);
  await bench.advance(61);
  assert.equal(count(), 3);
});

test("a changed image restarts the container", async () => {
  await using bench = await PodBench.start();
  await bench.run(newPod("web"));
  const pod = bench.api.pods.get("uid-web");
  assert.ok(pod?.spec);
  await bench.run({ ...pod, spec: { ...pod.spec, containers: [{ name: "web", image: "web:2" }] } });
  assert.equal(bench.runtime.running("web")?.image, "web:2");
  assert.equal(first(bench, "web").restartCount, 1);
});

test("a runtime that is away for a while loses nothing", async () => {
  await using bench = await PodBench.start();
  bench.runtime.failures.set("runSandbox", [new Error("connection refused")]);
  bench.runtime.failures.set("createContainer", [new Error("connection refused")]);
  bench.runtime.failures.set("startContainer", [new Error("connection refused")]);
  await bench.run(newPod("web"));
  await bench.advance(30);
  assert.equal(bench.status("web").phase, "Running");
  assert.ok(bench.reasons().includes("FailedCreatePodSandBox"));
  assert.equal(
    bench.runtime.sandboxes.flatMap(({ containers }) => containers).filter((c) => c.state === "running").length,
    1,
  );
});

test("each pod is run by the runtime that its class asks for, and found there again", async () => {
  const others: FakeRuntime[] = [];
  await using bench = await PodBench.start({}, (clock) => {
    others.push(new FakeRuntime(clock));
    return new FakeRuntime(clock);
  });
  const [other] = others;
  assert.ok(other);
  await bench.stopNode();
  bench.use({
    runtimes: [bench.runtime, other],
    runtimeOf: (handler) => (handler === "" ? bench.runtime : handler === "other" ? other : undefined),
  });
  bench.startNode();
  await bench.run(newPod("plain"));
  await bench.run(newPod("special", { runtimeClassName: "other" }));
  await bench.run(newPod("strange", { runtimeClassName: "strange" }));
  assert.ok(bench.runtime.running("web", "uid-plain"));
  assert.ok(other.running("web", "uid-special"));
  assert.equal(bench.status("special").phase, "Running");
  const { waiting } = first(bench, "strange").state ?? {};
  assert.equal(waiting?.reason, "RuntimeUnsupported");
  assert.match(waiting?.message ?? "", /no runtime for the handler "strange"/);
  const address = { namespace: "default", pod: "special", container: "web" };
  assert.equal(bench.manager.container(address)?.runtime, other);

  await bench.stopNode();
  bench.startNode();
  await bench.settle();
  bench.api.markDeleted("uid-special", 5);
  await bench.settle();
  assert.equal(other.sandboxes.length, 0);
});

test("containers are found by name, and the one before by asking for it", async () => {
  await using bench = await PodBench.start();
  await bench.run(newPod("web"));
  const address = { namespace: "default", pod: "web", container: "web" };
  assert.equal(bench.manager.container(address, "previous"), undefined);
  bench.runtime.exit(bench.runtime.running("web")?.id ?? "", 1);
  await bench.settle();
  assert.equal(bench.manager.container(address)?.container.attempt, 1);
  assert.equal(bench.manager.container(address, "previous")?.container.attempt, 0);
  assert.equal(bench.manager.container({ ...address, uid: "another" }), undefined);
  assert.equal(bench.manager.sandbox(address)?.sandbox.id, bench.runtime.sandboxes[0]?.id);
});

test("a pod for another system is refused as such, whatever else the runtime has against it", async () => {
  await using bench = await PodBench.start();
  bench.runtime.objectionsTo = () => ["no windows here"];
  await bench.run(newPod("glass", { os: { name: "windows" } }));
  assert.deepEqual([bench.status("glass").phase, bench.status("glass").reason], ["Failed", "PodOSNotSupported"]);
});

test("a container whose image changes is replaced without an end of readiness, unless that takes long", async () => {
  await using bench = await PodBench.start();
  await bench.run(newPod("web"));
  const isReady = (status: PodStatus) => status.conditions?.find(({ type }) => type === "Ready")?.status;
  const change = async (image: string, generation: number) => {
    const pod = bench.api.pods.get("uid-web");
    assert.ok(pod);
    bench.api.patches.length = 0;
    bench.api.put({
      ...pod,
      metadata: { ...pod.metadata, generation },
      spec: { ...pod.spec, containers: [{ name: "web", image }] },
    });
    await bench.settle();
  };
  await change("web:2", 2);
  assert.deepEqual(new Set(bench.api.patches.map(isReady)), new Set(["True"]));
  assert.equal(bench.status("web").containerStatuses?.[0]?.restartCount, 1);
  assert.equal(bench.status("web").observedGeneration, 2);

  bench.runtime.failures.set("startContainer", [new Error("no"), new Error("no")]);
  await change("web:3", 3);
  await bench.advance(1);
  assert.equal(isReady(bench.status("web")), "False", "what fails is told at once");
  await bench.advance(30);
  assert.equal(isReady(bench.status("web")), "True");

  let release = () => {};
  bench.api.volumes.mounts = () => new Promise((resolve) => (release = () => resolve([])));
  await change("web:4", 4);
  assert.equal(isReady(bench.status("web")), "True");
  await bench.advance(2);
  assert.equal(isReady(bench.status("web")), "False", "what takes long is told");
  release();
  await bench.settle();
  assert.equal(isReady(bench.status("web")), "True");
});
