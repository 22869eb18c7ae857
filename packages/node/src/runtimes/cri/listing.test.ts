import assert from "node:assert/strict";
import { test } from "node:test";
import { runtimeContainer } from "./listing.ts";
import { ContainerState } from "./proto/messages.ts";

type Status = Parameters<typeof runtimeContainer>[1];
const listed = { id: "c", podSandboxId: "s", annotations: {} } as Parameters<typeof runtimeContainer>[0];
const exited = (startedAt: bigint, finishedAt: bigint) =>
  ({
    state: ContainerState.CONTAINER_EXITED,
    createdAt: 1n,
    startedAt,
    finishedAt,
    exitCode: 0,
    reason: "",
    message: "",
  }) as Status;

test("a container that ended at once has not ended before it began", () => {
  const second = 1_000_000_000n;
  const late = runtimeContainer(listed, exited(5n * second, 4n * second));
  assert.deepEqual([late.startedAt, late.finishedAt], [4_000, 4_000]);
  const usual = runtimeContainer(listed, exited(4n * second, 5n * second));
  assert.deepEqual([usual.startedAt, usual.finishedAt], [4_000, 5_000]);
});
