import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { Pod } from "@fjord/kube";
import type { RuntimeContainer } from "../../runtime/index.ts";
import { observePod } from "../observed-pod.ts";
import type { PodSpec, PodStatus } from "../pod-containers.ts";
import { newPod } from "../testing/pod-bench.ts";
import { podStatus } from "./pod-status.ts";
import type { StatusInput } from "./status-input.ts";

const now = Date.UTC(2030, 0, 1, 12);

function container(name: string, changes: Partial<RuntimeContainer> = {}): RuntimeContainer {
  return {
    id: `${name}-${changes.attempt ?? 0}`,
    sandbox: "s",
    name,
    attempt: 0,
    state: "running",
    createdAt: now - 60_000,
    startedAt: now - 60_000,
    image: `${name}:1`,
    imageId: "sha256:1",
    annotations: {},
    logFile: "",
    ...changes,
  };
}

const exited = (exitCode: number, changes: Partial<RuntimeContainer> = {}): Partial<RuntimeContainer> => ({
  state: "exited",
  exitCode,
  finishedAt: now,
  ...changes,
});

function statusOf(pod: Pod, containers: RuntimeContainer[] | undefined, changes: Partial<StatusInput> = {}): PodStatus {
  const { uid = "", name = "", namespace = "" } = pod.metadata;
  const sandbox = {
    id: "s",
    pod: { uid, name, namespace },
    attempt: 0,
    state: changes.ended ? ("notReady" as const) : ("ready" as const),
    createdAt: now,
    addresses: ["10.0.0.7"],
    annotations: {},
    containers: containers ?? [],
  };
  const running = new Set((containers ?? []).filter(({ state }) => state === "running").map(({ id }) => id));
  return podStatus({
    pod,
    observed: observePod(containers === undefined ? [] : [sandbox]),
    now,
    waiting: new Map(),
    running,
    started: running,
    ready: running,
    messages: new Map(),
    resources: () => ({ granted: {}, given: {} }),
    conditions: [],
    ended: false,
    hostIPs: ["192.0.2.1"],
    runtimeName: "test",
    ...changes,
  });
}

const pod = (spec: Partial<PodSpec> = {}, status?: PodStatus): Pod => ({
  ...newPod("p", spec),
  ...(status && { status }),
});
const conditionOf = (status: PodStatus, type: string) =>
  status.conditions?.find((condition) => condition.type === type);

describe("a pod's phase", () => {
  const two = { containers: [{ name: "a" }, { name: "b" }] };
  const withInit = { initContainers: [{ name: "i" }], containers: [{ name: "a" }] };
  const withSidecar = { initContainers: [{ name: "s", restartPolicy: "Always" }], containers: [{ name: "a" }] };
  const crash = new Map([["a", { reason: "CrashLoopBackOff", message: "" }]]);

  for (const [what, spec, containers, changes, expected] of [
    ["before anything was made", two, undefined, {}, "Pending"],
    ["while one container is still to come", two, [container("a")], {}, "Pending"],
    ["with all running", two, [container("a"), container("b")], {}, "Running"],
    [
      "with one waiting to be restarted",
      two,
      [container("a", exited(1)), container("b")],
      { waiting: crash },
      "Running",
    ],
    ["during initialization", withInit, [container("i")], {}, "Pending"],
    ["after it", withInit, [container("i", exited(0)), container("a")], {}, "Running"],
    ["while a sidecar has not started", withSidecar, [container("s")], { started: new Set<string>() }, "Pending"],
    ["ended well", two, [container("a", exited(0)), container("b", exited(0))], { ended: true }, "Succeeded"],
    ["ended badly", two, [container("a", exited(0)), container("b", exited(2))], { ended: true }, "Failed"],
    [
      "with its work done and its sidecar killed",
      withSidecar,
      [container("s", exited(137)), container("a", exited(0))],
      { ended: true },
      "Succeeded",
    ],
    [
      "with its work done while a sidecar still runs",
      withSidecar,
      [container("s"), container("a", exited(0))],
      {},
      "Running",
    ],
  ] as const) {
    test(`${what} is ${expected}`, () => {
      assert.equal(
        statusOf(pod(spec as PodSpec), containers as RuntimeContainer[] | undefined, changes).phase,
        expected,
      );
    });
  }

  test("is never left once it is terminal", () => {
    assert.equal(statusOf(pod({}, { phase: "Failed", reason: "Evicted" }), [container("web")]).phase, "Failed");
    assert.equal(statusOf(pod({}, { phase: "Failed", reason: "Evicted" }), [container("web")]).reason, "Evicted");
  });
});

describe("a container's state", () => {
  const state = (containers: RuntimeContainer[] | undefined, changes: Partial<StatusInput> = {}, status?: PodStatus) =>
    statusOf(pod({}, status), containers, changes).containerStatuses?.[0];

  test("waits to be made, or for the init containers", () => {
    assert.deepEqual(state(undefined)?.state, { waiting: { reason: "ContainerCreating" } });
    const init = statusOf(pod({ initContainers: [{ name: "i" }] }), [container("i")]);
    assert.deepEqual(init.containerStatuses?.[0]?.state, { waiting: { reason: "PodInitializing" } });
  });

  test("tells how it ended, with its last words", () => {
    const ended = state([container("web", exited(3))], { ended: true, messages: new Map([["web-0", "bye"]]) });
    assert.deepEqual(ended?.state, {
      terminated: {
        exitCode: 3,
        reason: "Error",
        message: "bye",
        startedAt: "2030-01-01T11:59:00Z",
        finishedAt: "2030-01-01T12:00:00Z",
        containerID: "test://web-0",
      },
    });
    assert.equal(ended?.ready, false);
  });

  test("that waits to be restarted has its end as the last state", () => {
    const waiting = new Map([["web", { reason: "CrashLoopBackOff", message: "back-off" }]]);
    const status = state([container("web", exited(1, { attempt: 4 }))], { waiting });
    assert.deepEqual(status?.state, { waiting: { reason: "CrashLoopBackOff", message: "back-off" } });
    assert.equal(status?.lastState?.terminated?.exitCode, 1);
    assert.equal(status?.restartCount, 4);
  });

  test("keeps the end of the one before, also when the runtime has forgotten it", () => {
    const before = container("web", exited(9, { attempt: 0 }));
    const both = state([container("web", { attempt: 1 }), before]);
    assert.equal(both?.lastState?.terminated?.exitCode, 9);
    const reported: PodStatus = { containerStatuses: both === undefined ? [] : [both] };
    assert.equal(state([container("web", { attempt: 1 })], {}, reported)?.lastState?.terminated?.exitCode, 9);
  });

  test("of one that vanished is unknown, and its count is kept", () => {
    const running = state([container("web", { attempt: 2 })]);
    const reported: PodStatus = { phase: "Running", containerStatuses: running === undefined ? [] : [running] };
    const lost = state([], {}, reported);
    assert.equal(lost?.state?.waiting?.reason, "ContainerCreating");
    assert.equal(lost?.lastState?.terminated?.reason, "ContainerStatusUnknown");
    assert.equal(lost?.restartCount, 2);
    assert.equal(state([], { ended: true }, reported)?.state?.terminated?.exitCode, 137);
  });

  test("that was ended before it was made stays ended when its sandbox is gone", () => {
    const before = statusOf(pod(), [], { ended: true });
    assert.equal(before.containerStatuses?.[0]?.state?.terminated?.exitCode, 137);
    const after = statusOf(pod({}, before), undefined, { ended: true });
    assert.deepEqual(after.containerStatuses?.[0]?.state, before.containerStatuses?.[0]?.state);
  });

  test("while its hook runs is not running yet", () => {
    const hooking = state([container("web")], { running: new Set(), started: new Set(), ready: new Set() });
    assert.deepEqual(hooking?.state, { waiting: { reason: "ContainerCreating" } });
    assert.equal(hooking?.ready, false);
  });
});

describe("conditions", () => {
  test("name what is missing", () => {
    const status = statusOf(pod({ containers: [{ name: "a" }, { name: "b" }] }), [container("a"), container("b")], {
      ready: new Set(["a-0"]),
    });
    const { lastTransitionTime: _, ...ready } = conditionOf(status, "Ready") ?? { type: "" };
    assert.deepEqual(ready, {
      type: "Ready",
      status: "False",
      reason: "ContainersNotReady",
      message: "containers with unready status: [b]",
      observedGeneration: 1,
    });
  });

  test("keep the time of their last change, and those of others", () => {
    const lastTransitionTime = "2029-01-01T00:00:00Z";
    const before: PodStatus = {
      conditions: [
        { type: "Ready", status: "True", lastTransitionTime },
        { type: "ContainersReady", status: "False", lastTransitionTime },
        { type: "other", status: "Unknown", lastTransitionTime },
        { type: "PodResizePending", status: "True", lastTransitionTime },
      ],
    };
    const status = statusOf(pod({}, before), [container("web")]);
    assert.equal(conditionOf(status, "Ready")?.lastTransitionTime, lastTransitionTime);
    assert.equal(conditionOf(status, "ContainersReady")?.lastTransitionTime, "2030-01-01T12:00:00Z");
    assert.equal(conditionOf(status, "other")?.status, "Unknown");
    assert.equal(conditionOf(status, "PodResizePending"), undefined, "its own are taken back");
  });
});

test("addresses are the sandbox', the host's on its network, and those of before once all has ended", () => {
  assert.deepEqual(statusOf(pod(), [container("web")]).podIPs, [{ ip: "10.0.0.7" }]);
  assert.equal(statusOf(pod({ hostNetwork: true }), [container("web")]).podIP, "192.0.2.1");
  assert.equal(statusOf(pod(), undefined).podIP, undefined);
  const ended = statusOf(pod({}, { podIPs: [{ ip: "10.0.0.9" }] }), [container("web", exited(0))], { ended: true });
  assert.equal(ended.podIP, "10.0.0.9");
});
