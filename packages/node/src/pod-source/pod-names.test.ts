import assert from "node:assert/strict";
import { test } from "node:test";
import type { Pod } from "@fjord/kube";
import { strangeName } from "./pod-names.ts";

function pod(changes: { uid?: string; name?: string; container?: unknown; volume?: unknown }): Pod {
  const { uid = "6f0a-1", name = "web.1", container = "main", volume = "data" } = changes;
  return {
    apiVersion: "v1",
    kind: "Pod",
    metadata: { uid, name, namespace: "default" },
    spec: { containers: [{ name: container }], volumes: [{ name: volume }] },
  } as unknown as Pod;
}

test("names that Kubernetes gives are no surprise", () => {
  assert.equal(strangeName(pod({})), undefined);
  assert.equal(strangeName(pod({ name: "a".repeat(253), container: "b".repeat(63) })), undefined);
});

test("what would lead out of a directory is found wherever it stands", () => {
  assert.equal(strangeName(pod({ uid: "../../etc" })), "../../etc");
  assert.equal(strangeName(pod({ name: "a/b" })), "a/b");
  assert.equal(strangeName(pod({ container: "../x" })), "../x");
  assert.equal(strangeName(pod({ volume: ".." })), "..");
  assert.equal(strangeName(pod({ volume: "a".repeat(64) })), "a".repeat(64));
  assert.equal(strangeName(pod({ container: 7 })), "7");
});
