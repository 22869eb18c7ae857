import assert from "node:assert/strict";
import { test } from "node:test";
import { ManualClock } from "@fjord/base/testing";
import { TASK_STOPPED, Tasks } from "./containerd-tasks.ts";
import { CriRuntime } from "./cri-runtime.ts";
import { grpcStatus } from "./grpc/grpc-status.ts";
import { ContainerState, RuntimeService } from "./proto/messages.ts";
import { FakeRuntime, Refusal } from "./testing/fake-runtime.ts";

const { CONTAINER_RUNNING, CONTAINER_EXITED } = ContainerState;
const TASK_RUNNING = 2;
const PATIENCE = 5_000;

/** A runtime that says of containers, each in a sandbox of its own, what a test has it say. */
async function saying(states: Record<string, ContainerState>) {
  const runtime = await FakeRuntime.start();
  const clock = new ManualClock();
  const processes: Record<string, { status: number; exitStatus?: number; exitedAt?: { seconds: bigint } }> = {};
  const forgotten: string[] = [];
  runtime.answer(RuntimeService.listContainers, () => ({
    containers: Object.entries(states).map(([id, state]) => ({ id, state, podSandboxId: `s-${id}` })),
  }));
  runtime.answer(RuntimeService.listPodSandbox, () => ({
    items: Object.keys(states).map((id) => ({ id: `s-${id}`, metadata: { uid: `u-${id}` } })),
  }));
  runtime.answer(RuntimeService.podSandboxStatus, () => ({ status: {} }));
  runtime.answer(RuntimeService.containerStatus, ({ containerId }) => ({
    status: { id: containerId, state: states[containerId] ?? 0, startedAt: 5_000_000n },
  }));
  runtime.answer(Tasks.get, ({ containerId }) => {
    const process = processes[containerId];
    if (process === undefined) throw new Refusal(grpcStatus.notFound, "no such process");
    return { process };
  });
  runtime.answer(Tasks.delete, ({ containerId }) => {
    forgotten.push(containerId);
    return {};
  });
  const cri = new CriRuntime({ socket: runtime.socket, cgroups: [], clock });
  const list = async () =>
    Object.fromEntries(
      (await cri.list()).map(({ id, containers: [container] }) => [
        id.slice(2),
        container && [container.state, container.exitCode, container.reason, container.finishedAt],
      ]),
    );
  return { runtime, clock, processes, forgotten, cri, list };
}

const runs = ["running", undefined, undefined, undefined];

test("of a container that the runtime says runs, though its process has ended, the end is told", async () => {
  const states = { ended: CONTAINER_RUNNING, gone: CONTAINER_RUNNING, alive: CONTAINER_RUNNING };
  const { runtime, clock, processes, cri, list } = await saying(states);
  await using _ = runtime;
  processes.ended = { status: TASK_STOPPED, exitStatus: 7, exitedAt: { seconds: 9n } };
  processes.alive = { status: TASK_RUNNING };
  assert.deepEqual(await list(), { ended: runs, gone: runs, alive: runs }, "the runtime may be about to tell");
  assert.equal(runtime.count(Tasks.get), 3);

  clock.advance(PATIENCE);
  const told = {
    ended: ["exited", 7, "Error", 9000],
    gone: ["exited", 255, "Unknown", undefined],
    alive: runs,
  };
  assert.deepEqual(await list(), told);
  assert.deepEqual(await list(), told);
  assert.equal(runtime.count(Tasks.get), 5, "what is known is not asked for again");
  cri.close();
});

test("a runtime that tells of an end within seconds, or that was not restarted, is believed", async () => {
  const states: Record<string, ContainerState> = { c: CONTAINER_RUNNING };
  const { runtime, clock, processes, cri, list } = await saying(states);
  await using _ = runtime;
  processes.c = { status: TASK_STOPPED, exitStatus: 7 };
  await list();
  states.c = CONTAINER_EXITED;
  clock.advance(PATIENCE);
  assert.deepEqual(await list(), { c: ["exited", 0, "Completed", undefined] });

  const asked = runtime.count(Tasks.get);
  states.later = CONTAINER_RUNNING;
  assert.deepEqual((await list()).later, runs);
  assert.equal(runtime.count(Tasks.get), asked);
  cri.close();
});

test("where it cannot be known whether there is a process, the runtime is believed", async () => {
  for (const status of [grpcStatus.unimplemented, grpcStatus.unavailable, grpcStatus.deadlineExceeded]) {
    const { runtime, clock, cri, list } = await saying({ c: CONTAINER_RUNNING });
    await using _ = runtime;
    runtime.answer(Tasks.get, () => {
      throw new Refusal(status, "no");
    });
    for (let looks = 3; looks > 0; looks--) {
      assert.deepEqual(await list(), { c: runs });
      clock.advance(PATIENCE);
    }
    cri.close();
  }
});

test("what the runtime cannot remove for having missed its end is gone for the node, until the runtime knows", async () => {
  const states: Record<string, ContainerState> = { a: CONTAINER_RUNNING, b: CONTAINER_RUNNING };
  const { runtime, clock, forgotten, cri, list } = await saying(states);
  await using _ = runtime;
  const stopped: string[] = [];
  runtime.answer(RuntimeService.stopPodSandbox, ({ podSandboxId }) => {
    stopped.push(podSandboxId);
    return {};
  });
  runtime.answer(RuntimeService.removePodSandbox, () => {
    throw new Refusal(grpcStatus.unknown, "container is still running, to stop first");
  });
  await list();
  clock.advance(PATIENCE);
  await list();

  await cri.removeContainer("a");
  assert.deepEqual(forgotten, ["a"]);
  assert.deepEqual(
    Object.entries(await list()).map(([id, container]) => [id, container?.[0]]),
    [
      ["a", undefined],
      ["b", "exited"],
    ],
  );

  await cri.stopSandbox("s-b");
  assert.deepEqual([forgotten, stopped], [["a", "b"], ["s-b"]], "the runtime would wait for its end");
  await cri.removeSandbox("s-b");
  assert.deepEqual(await list(), { a: undefined });

  // As after another restart.
  for (const id of ["a", "b"]) states[id] = CONTAINER_EXITED;
  assert.deepEqual(Object.keys(await list()), ["a", "b"]);
  await assert.rejects(cri.removeSandbox("s-b"), { code: "CRI_CALL_FAILED" }, "which is the runtime's affair again");
  cri.close();
});

test("a container whose end the runtime is about to miss can be stopped", async () => {
  const { runtime, processes, forgotten, cri, list } = await saying({ c: CONTAINER_RUNNING, d: CONTAINER_RUNNING });
  await using _ = runtime;
  processes.c = { status: TASK_STOPPED };
  processes.d = { status: TASK_RUNNING };
  runtime.answer(RuntimeService.stopContainer, () => ({}));
  await list();
  for (const id of ["c", "d"]) await cri.stopContainer(id, 1);
  assert.deepEqual(forgotten, ["c"]);
  cri.close();
});

test("a runtime that was cut off may have been restarted", async () => {
  const { runtime, clock, processes, cri, list } = await saying({ c: CONTAINER_RUNNING });
  await using _ = runtime;
  const look = async () => {
    await list();
    clock.advance(PATIENCE);
    return (await list()).c?.[0];
  };
  processes.c = { status: TASK_RUNNING };
  assert.equal(await look(), "running");
  processes.c = { status: TASK_STOPPED };
  assert.equal(await look(), "running");
  runtime.cut();
  // It may not have noticed yet.
  await list().catch(() => {});
  assert.equal(await look(), "exited");
  cri.close();
});
