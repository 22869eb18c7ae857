import assert from "node:assert/strict";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { systemClock } from "@fjord/base";
import { TASK_CREATED, Tasks } from "./containerd-tasks.ts";
import { CriClient } from "./cri-client.ts";
import { grpcStatus } from "./grpc/grpc-status.ts";
import { PodLister } from "./pod-lister.ts";
import { ContainerState, RuntimeService } from "./proto/messages.ts";
import { FakeRuntime, Refusal } from "./testing/fake-runtime.ts";

const PODS = 100;

/** A runtime with a hundred pods of one container each. */
async function hundredPods() {
  const runtime = await FakeRuntime.start();
  const states = new Map<string, ContainerState>();
  for (let i = 0; i < PODS; i++) states.set(`c${i}`, ContainerState.CONTAINER_RUNNING);
  const gone = new Set<string>();
  runtime.answer(RuntimeService.listPodSandbox, () => ({
    items: Array.from({ length: PODS }, (_, i) => ({
      id: `s${i}`,
      metadata: { uid: `u${i}`, name: `p${i}`, namespace: "default" },
      createdAt: BigInt(i + 1) * 1_000_000n,
    })),
  }));
  runtime.answer(RuntimeService.listContainers, () => ({
    containers: [...states].map(([id, state]) => ({
      id,
      state,
      podSandboxId: `s${id.slice(1)}`,
      metadata: { name: "main" },
    })),
  }));
  runtime.answer(RuntimeService.podSandboxStatus, ({ podSandboxId }) => ({
    status: { id: podSandboxId, network: { ip: "10.0.0.1", additionalIps: [{ ip: "fd00::1" }] } },
  }));
  runtime.answer(RuntimeService.containerStatus, ({ containerId }) => {
    if (gone.has(containerId)) throw new Refusal(grpcStatus.notFound, "no such container");
    return { status: { id: containerId, state: states.get(containerId) ?? 0, startedAt: 5_000_000n, exitCode: 4 } };
  });
  const client = new CriClient({ socket: runtime.socket, clock: systemClock });
  return { runtime, states, gone, lister: new PodLister(client), close: () => client.close() };
}

test("what cannot change is asked for once", async () => {
  const { runtime, states, lister, close } = await hundredPods();
  await using _ = runtime;
  const first = await lister.list();
  assert.equal(first.length, PODS);
  assert.equal(first[0]?.id, "s99", "the newest comes first");
  assert.deepEqual(first[0]?.addresses, ["10.0.0.1", "fd00::1"]);
  assert.equal(first[0]?.containers[0]?.startedAt, 5);
  assert.equal(runtime.count(RuntimeService.containerStatus), PODS);

  assert.deepEqual(await lister.list(), first);
  assert.equal(runtime.count(RuntimeService.containerStatus), PODS);
  assert.equal(runtime.count(RuntimeService.podSandboxStatus), PODS);

  states.set("c7", ContainerState.CONTAINER_EXITED);
  const ended = (await lister.list()).find(({ id }) => id === "s7")?.containers[0];
  assert.deepEqual([ended?.state, ended?.exitCode, ended?.reason], ["exited", 4, "Error"]);
  assert.equal(runtime.count(RuntimeService.containerStatus), PODS + 1);

  lister.forget("c8");
  await lister.list();
  assert.equal(runtime.count(RuntimeService.containerStatus), PODS + 2);
  close();
});

test("a container that goes between two questions is left out", async () => {
  const { runtime, gone, lister, close } = await hundredPods();
  await using _ = runtime;
  gone.add("c3");
  const pods = await lister.list();
  assert.equal(pods.length, PODS);
  assert.deepEqual(pods.find(({ id }) => id === "s3")?.containers, []);
  close();
});

test("a start that was cut off before there was a process is told from one that failed", async () => {
  const { runtime, states, lister, close } = await hundredPods();
  await using _ = runtime;
  const messages = {
    "failed to create containerd task: failed to create shim task: context canceled: unknown": "created",
    "failed to create containerd task: failed to get task pid: context canceled: unknown": "created",
    "failed to create containerd task: failed to create shim task: context deadline exceeded: unknown": "created",
    "failed to create containerd task: failed to start shim: start failed: : signal: killed: unknown": "created",
    // The process may have begun, or cannot begin.
    'failed to start containerd task "c0": context canceled: unknown': "exited",
    "failed to create containerd task: failed to create shim task: OCI runtime create failed: no such file": "exited",
    "failed to create containerd task: OCI runtime create failed: container init was OOM-killed: signal: killed":
      "exited",
  };
  for (const [index, [message, expected]] of Object.entries(messages).entries()) {
    const id = `c${index}`;
    states.set(id, ContainerState.CONTAINER_EXITED);
    runtime.answer(RuntimeService.containerStatus, ({ containerId }) => ({
      status: { id: containerId, state: states.get(containerId) ?? 0, exitCode: 128, reason: "StartError", message },
    }));
    const found = (await lister.list()).flatMap(({ containers }) => containers).find((each) => each.id === id);
    assert.equal(found?.state, expected, message);
    assert.equal(found?.exitCode, expected === "exited" ? 128 : undefined);
  }
  close();
});

test("of a container in no known state it is found out whether it was begun", async () => {
  const { runtime, states, lister, close } = await hundredPods();
  await using _ = runtime;
  const begunAt: Record<string, bigint> = { c3: 5_000_000n };
  const processes: Record<string, number> = { c1: TASK_CREATED, c2: 2, c3: 2 };
  runtime.answer(RuntimeService.containerStatus, ({ containerId }) => ({
    status: { id: containerId, state: states.get(containerId) ?? 0, startedAt: begunAt[containerId] ?? 0n },
  }));
  const look = async () => {
    lister.forget("c0");
    const found = (await lister.list()).flatMap(({ containers }) => containers);
    return ["c0", "c1", "c2", "c3"].map((id) => found.find((each) => each.id === id)?.state);
  };
  for (const id of ["c0", "c1", "c2", "c3"]) states.set(id, ContainerState.CONTAINER_UNKNOWN);
  assert.deepEqual(await look(), Array(4).fill("unknown"), "a runtime that cannot be asked");

  for (const id of ["c1", "c2", "c3"]) lister.forget(id);
  runtime.answer(Tasks.get, ({ containerId }) => {
    const status = processes[containerId];
    if (status === undefined) throw new Refusal(grpcStatus.notFound, "no such process");
    return { process: { status } };
  });
  assert.deepEqual(await look(), ["created", "created", "unknown", "unknown"]);
  close();
});

test("a container that has written and has no process was ended, whatever the runtime remembers", async () => {
  const { runtime, states, lister, close } = await hundredPods();
  await using _ = runtime;
  const directory = await mkdtemp(join(tmpdir(), "fjord-lister-"));
  const logPath = join(directory, "0.log");
  let createdAt = BigInt(Date.now()) * 1_000_000n;
  states.set("c0", ContainerState.CONTAINER_CREATED);
  runtime.answer(RuntimeService.containerStatus, ({ containerId }) => ({
    status: {
      id: containerId,
      state: states.get(containerId) ?? 0,
      createdAt,
      ...(containerId === "c0" && { logPath }),
    },
  }));
  let stage: number | undefined;
  runtime.answer(Tasks.get, () => {
    if (stage === undefined) throw new Refusal(grpcStatus.notFound, "no such process");
    return { process: { status: stage } };
  });
  const look = async () => (await lister.list()).find(({ id }) => id === "s0")?.containers[0];
  assert.equal((await look())?.state, "created", "without a log");
  await writeFile(logPath, "");
  assert.equal((await look())?.state, "created", "with an empty one");
  await writeFile(logPath, "a line");
  for (stage of [TASK_CREATED, 2]) assert.equal((await look())?.state, "created", "while it is being started");

  stage = undefined;
  createdAt += 60_000_000_000n;
  lister.forget("c0");
  assert.equal((await look())?.state, "created", "with what one before it wrote");

  createdAt -= 60_000_000_000n;
  lister.forget("c0");
  const ended = await look();
  assert.deepEqual([ended?.state, ended?.exitCode], ["exited", 137]);
  assert.equal((await look())?.state, "exited", "and it stays so");
  await rm(directory, { recursive: true });
  close();
});

test("a container that was killed for its memory says so, though the runtime knows it a moment later", async () => {
  const { runtime, states, lister, close } = await hundredPods();
  await using _ = runtime;
  states.clear();
  states.set("c0", ContainerState.CONTAINER_EXITED);
  const reasons = ["Error", "OOMKilled"];
  runtime.answer(RuntimeService.containerStatus, ({ containerId }) => ({
    status: {
      id: containerId,
      state: ContainerState.CONTAINER_EXITED,
      startedAt: 5_000_000n,
      exitCode: 137,
      reason: reasons.shift() ?? "OOMKilled",
    },
  }));
  const [container] = (await lister.list()).flatMap(({ containers }) => containers);
  assert.equal(container?.reason, "OOMKilled");
  close();
});
