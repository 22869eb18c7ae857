import assert from "node:assert/strict";
import { test } from "node:test";
import type { KubeObject } from "@fjord/base";
import { ManualClock } from "@fjord/base/testing";
import type { Cache } from "@fjord/kube";
import { PendingWrites } from "./pending-writes.ts";

const object = (version: string, metadata: object = {}): KubeObject => ({
  apiVersion: "v1",
  kind: "Thing",
  metadata: { name: "a", uid: "1", resourceVersion: version, ...metadata },
});

test("an owner is left alone until the cache has caught up", async () => {
  const clock = new ManualClock();
  let cached: KubeObject | undefined;
  const writes = new PendingWrites(clock, { get: () => cached } as unknown as Cache<KubeObject>);
  assert.equal(writes.isBehind("x"), false);
  writes.wrote("x", object("9"));
  assert.equal(writes.isBehind("x"), true);
  cached = object("8");
  assert.equal(writes.isBehind("x"), true);
  cached = object("10");
  assert.equal(writes.isBehind("x"), false);
  writes.deleted("x", object("10"));
  assert.equal(writes.isBehind("x"), true);
  cached = object("11", { uid: "2" });
  assert.equal(writes.isBehind("x"), false);
  writes.wrote("x", object("99"));
  await clock.advance(30_001);
  assert.equal(writes.isBehind("x"), false);
});
