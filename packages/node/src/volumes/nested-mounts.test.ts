import assert from "node:assert/strict";
import { test } from "node:test";
import { nestedMountPoints } from "./nested-mounts.ts";
import { testPod } from "./testing/pods.ts";

test("places are needed for what is mounted inside a volume", () => {
  const points = (volumeMounts: { name: string; mountPath: string; subPath?: string }[]) =>
    nestedMountPoints(testPod({ container: { volumeMounts } }), "outer");
  const outer = { name: "outer", mountPath: "/etc/app" };
  assert.deepEqual(points([outer, { name: "b", mountPath: "/var/lib" }]), []);
  assert.deepEqual(points([outer, { name: "b", mountPath: "/etc/app/cache" }]), ["cache"]);
  assert.deepEqual(points([{ name: "b", mountPath: "/etc/app/a/b/" }, outer]), ["a/b"]);
  assert.deepEqual(points([outer, { name: "b", mountPath: "/etc/apparatus" }]), []);
  assert.deepEqual(points([outer, { name: "b", mountPath: "/etc/app/x" }, { name: "c", mountPath: "/etc/app/x/y" }]), [
    "x",
  ]);
  assert.deepEqual(
    points([
      { ...outer, subPath: "key" },
      { name: "b", mountPath: "/etc/app/x" },
    ]),
    [],
  );
  assert.deepEqual(points([outer, { name: "b", mountPath: "/etc/app/../../x" }]), []);
  assert.deepEqual(points([outer, { name: "b", mountPath: "/etc/app/..data/x" }]), []);
});
