import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { PodSpec } from "../pod-containers.ts";
import { newPod } from "../testing/pod-bench.ts";
import type { PlanInput } from "./plan-input.ts";
import { PlanModel } from "./plan-model.ts";
import { planPod } from "./pod-plan.ts";

function model(spec: Partial<PodSpec> = {}): PlanModel {
  return new PlanModel(newPod("pod", spec));
}

function words(model: PlanModel, changes: Partial<PlanInput> = {}): string[] {
  return planPod({ ...model.input(), ...changes }).actions.map((action) => {
    if (action.do === "start") return `start ${action.container.name} ${action.attempt}`;
    if (action.do === "stop") return `stop ${action.container.name} ${action.graceSeconds}`;
    if (action.do === "remove") return `remove ${action.container.name} ${action.container.attempt}`;
    return action.do;
  });
}

const twoMains = { containers: [{ name: "a" }, { name: "b" }] };

describe("a pod that begins", () => {
  test("gets its sandbox first", () => assert.deepEqual(words(model()), ["runSandbox"]));

  test("waits for a sandbox that is being made", () => assert.deepEqual(words(model(), { sandboxBusy: true }), []));

  test("waits before a sandbox is tried again", () => {
    const pod = model();
    assert.deepEqual(words(pod, { sandboxRetryAt: pod.now + 1 }), []);
    assert.equal(planPod({ ...pod.input(), sandboxRetryAt: pod.now + 1 }).wakeAt, pod.now + 1);
  });

  test("starts its main containers together", () => {
    const pod = model(twoMains);
    pod.carryOut({ do: "runSandbox", attempt: 0 });
    assert.deepEqual(words(pod), ["start a 0", "start b 0"]);
    assert.deepEqual(words(pod, { starting: new Set(["a"]) }), ["start b 0"]);
    assert.deepEqual(words(pod, { retryAt: new Map([["a", pod.now + 5]]) }), ["start b 0"]);
  });

  test("takes restart counts from its status where the runtime has lost its containers", () => {
    const pod = model();
    const status = { name: "web", image: "", imageID: "", ready: true, restartCount: 4, containerID: "x://1" };
    const lost = { ...pod.pod, status: { containerStatuses: [{ ...status, state: { running: {} } }] } };
    pod.carryOut({ do: "runSandbox", attempt: 0 });
    assert.deepEqual(words(pod, { pod: lost }), ["start web 5"]);
  });

  test("does not count a container that was made and never started as a restart", () => {
    const pod = model();
    const status = { name: "web", image: "", imageID: "", ready: false, restartCount: 4, containerID: "x://1" };
    const made = (lastState: object) => {
      const state = { waiting: { reason: "ContainerCreating" } };
      return { ...pod.pod, status: { containerStatuses: [{ ...status, state, lastState }] } };
    };
    const ended = (containerID?: string) => ({ terminated: { exitCode: 1, ...(containerID && { containerID }) } });
    pod.carryOut({ do: "runSandbox", attempt: 0 });
    assert.deepEqual(words(pod, { pod: made({}) }), ["start web 4"]);
    assert.deepEqual(words(pod, { pod: made(ended("x://0")) }), ["start web 4"]);
    assert.deepEqual(words(pod, { pod: made(ended("x://1")) }), ["start web 5"]);
    assert.deepEqual(words(pod, { pod: made(ended()) }), ["start web 5"]);
  });
});

describe("a container", () => {
  test("that was made but not started by a node that died is removed and made anew", () => {
    const pod = model();
    pod.rest();
    const [container] = pod.containers();
    assert.ok(container);
    container.state = "created";
    assert.deepEqual(words(pod), ["remove web 0"]);
    pod.rest();
    assert.deepEqual(pod.running(), ["web"]);
  });

  test("whose state nobody knows is stopped before another starts", () => {
    const pod = model();
    pod.rest();
    const [container] = pod.containers();
    assert.ok(container);
    container.state = "unknown";
    assert.deepEqual(words(pod), ["stop web 30"]);
  });

  test("that is being stopped is not stopped again", () => {
    const pod = model();
    pod.rest();
    const id = pod.containers()[0]?.id ?? "";
    const unwell = new Map([[id, { message: "unwell" }]]);
    assert.deepEqual(words(pod, { unwell }), ["stop web 30"]);
    assert.deepEqual(words(pod, { unwell, stopping: new Map([[id, pod.now + 30_000]]) }), []);
  });

  test("waits for its time after failing, in the words that kubectl shows", () => {
    const pod = model();
    pod.rest();
    for (let restart = 0; restart < 6; restart++) {
      pod.exit("web", 1);
      pod.rest();
    }
    pod.exit("web", 1);
    const { waiting, wakeAt, actions } = pod.plan();
    assert.deepEqual(actions, []);
    assert.equal(wakeAt, pod.now + 300_000);
    assert.deepEqual(waiting.get("web"), {
      reason: "CrashLoopBackOff",
      message: "back-off 5m0s restarting failed container=web pod=pod_default(uid-pod)",
    });
  });

  test("of another image than the one that failed starts at once", () => {
    const pod = model();
    pod.rest();
    for (let restart = 0; restart < 4; restart++) {
      pod.exit("web", 1);
      pod.rest();
    }
    pod.exit("web", 1);
    assert.deepEqual(words(pod), []);
    const changed = newPod("pod", { containers: [{ name: "web", image: "web:2" }] });
    const [action] = planPod({ ...pod.input(), pod: changed }).actions;
    assert.ok(action?.do === "start");
    assert.equal(action.restartDelay, 10_000);
  });

  test("of a name that the pod does not have is stopped", () => {
    const pod = model();
    pod.rest();
    const [container] = pod.containers();
    assert.ok(container);
    container.name = "stranger";
    assert.ok(words(pod).includes("stop stranger 0"));
  });

  test("beyond the last two of its name is removed once dead", () => {
    const pod = model();
    pod.rest();
    for (let restart = 0; restart < 3; restart++) {
      pod.exit("web", 1);
      pod.rest();
    }
    assert.deepEqual(
      pod.containers().map(({ attempt }) => attempt),
      [3, 2],
    );
  });
});

describe("a pod whose sandbox has gone", () => {
  test("gets a new one, begins with its init containers again, and sheds the old one in time", () => {
    const pod = model({ initContainers: [{ name: "init" }] });
    pod.rest();
    pod.exit("init", 0);
    pod.rest();
    pod.loseSandbox();
    assert.deepEqual(words(pod), ["runSandbox"]);
    pod.rest();
    assert.deepEqual(pod.running(), ["init"]);
    pod.exit("init", 0);
    pod.rest();
    assert.deepEqual(pod.running(), ["web"]);
  });

  test("does not come back where its work is done", () => {
    const pod = model({ restartPolicy: "Never" });
    pod.rest();
    pod.loseSandbox();
    assert.deepEqual(words(pod), []);
    assert.equal(pod.plan().ended, true);
  });
});

describe("a pod that ends", () => {
  const end = (pod: PlanModel, graceSeconds: number) => {
    pod.end = { cause: "deleted", since: pod.now, graceSeconds };
  };

  test("stops its containers at once, with what is left of its time", () => {
    const pod = model(twoMains);
    pod.rest();
    end(pod, 30);
    assert.deepEqual(words(pod).sort(), ["stop a 30", "stop b 30"]);
    pod.now += 12_000;
    assert.deepEqual(words(pod).sort(), ["stop a 18", "stop b 18"]);
    pod.now += 60_000;
    assert.deepEqual(words(pod).sort(), ["stop a 2", "stop b 2"]);
  });

  test("gives no time where none is wanted", () => {
    const pod = model();
    pod.rest();
    end(pod, 0);
    assert.deepEqual(words(pod), ["stop web 0"]);
  });

  test("stops again with less time what is being stopped with more", () => {
    const pod = model();
    pod.rest();
    const id = pod.containers()[0]?.id ?? "";
    end(pod, 5);
    assert.deepEqual(words(pod, { stopping: new Map([[id, pod.now + 600_000]]) }), ["stop web 5"]);
    assert.deepEqual(words(pod, { stopping: new Map([[id, pod.now + 5_000]]) }), []);
  });

  test("stops sidecars in reverse order after the others, or all at once when its time is over", () => {
    const sidecars = ["s0", "s1"].map((name) => ({ name, restartPolicy: "Always" }));
    const pod = model({ initContainers: sidecars });
    pod.rest();
    end(pod, 30);
    assert.deepEqual(words(pod), ["stop web 30"]);
    assert.equal(pod.plan().wakeAt, pod.now + 30_000);
    pod.exit("web", 0);
    assert.deepEqual(words(pod), ["stop s1 30"]);
    pod.now += 31_000;
    assert.deepEqual(words(pod).sort(), ["stop s0 2", "stop s1 2"]);
  });

  test("takes its sandbox down last, and waits for what is still being started", () => {
    const pod = model();
    pod.rest();
    end(pod, 30);
    pod.exit("web", 0);
    assert.deepEqual(words(pod, { starting: new Set(["web"]) }), []);
    assert.deepEqual(words(pod), ["stopSandbox"]);
    pod.rest();
    assert.equal(pod.plan().ended, true);
  });
});
