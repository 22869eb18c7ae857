import assert from "node:assert/strict";
import { test } from "node:test";
import { changedPods, snapshot } from "./pod-changes.ts";
import { decode } from "./proto/decode.ts";
import { encode } from "./proto/encode.ts";
import type { Init, Schema } from "./proto/message.ts";
import { Container, ContainerState, PodSandbox, PodSandboxState } from "./proto/messages.ts";

const create = <T>(schema: Schema<T>, given: Init<T>): T => decode(schema, encode(schema, given));
const sandbox = (id: string, uid: string, state: PodSandboxState = PodSandboxState.SANDBOX_READY) =>
  create(PodSandbox, { id, metadata: { uid }, state });
const container = (id: string, podSandboxId: string, state: ContainerState = ContainerState.CONTAINER_RUNNING) =>
  create(Container, { id, podSandboxId, state });

const before = snapshot([sandbox("s1", "a"), sandbox("s2", "b")], [container("c1", "s1"), container("c2", "s2")]);

test("nothing has changed where all is the same", () => {
  const again = snapshot([sandbox("s2", "b"), sandbox("s1", "a")], [container("c2", "s2"), container("c1", "s1")]);
  assert.deepEqual([...changedPods(before, again)], []);
});

test("an end, a start and a removal change their pod alone", () => {
  const sandboxes = [sandbox("s1", "a"), sandbox("s2", "b")];
  const ended = snapshot(sandboxes, [container("c1", "s1", ContainerState.CONTAINER_EXITED), container("c2", "s2")]);
  assert.deepEqual([...changedPods(before, ended)], ["a"]);
  const started = snapshot(sandboxes, [container("c1", "s1"), container("c2", "s2"), container("c3", "s2")]);
  assert.deepEqual([...changedPods(before, started)], ["b"]);
  assert.deepEqual([...changedPods(before, snapshot(sandboxes, [container("c2", "s2")]))], ["a"]);
});

test("a sandbox that goes changes its pod, although its containers cannot be told by it any more", () => {
  assert.deepEqual([...changedPods(before, snapshot([sandbox("s2", "b")], [container("c2", "s2")]))], ["a"]);
});

test("only what runs may end", () => {
  const seen = snapshot(
    [sandbox("s1", "a"), sandbox("s2", "b", PodSandboxState.SANDBOX_NOTREADY)],
    [container("c1", "s1"), container("c2", "s1", ContainerState.CONTAINER_EXITED), container("c3", "elsewhere")],
  );
  assert.deepEqual(
    [...seen].filter(([, { alive }]) => alive).map(([id]) => id),
    ["s1", "c1"],
  );
  assert.equal(seen.has("c3"), false);
});
