import assert from "node:assert/strict";
import { test } from "node:test";
import { cgroupDirectory, cgroupParentName } from "./cgroup-parent.ts";

const path = "/kubepods/burstable/pod1f-2e";

test("a runtime that makes its groups itself is given their path", () => {
  assert.equal(cgroupParentName(path, "cgroupfs"), path);
  assert.equal(cgroupDirectory(path, "cgroupfs"), path);
});

test("a runtime that has systemd make them is given a slice", () => {
  assert.equal(cgroupParentName(path, "systemd"), "kubepods-burstable-pod1f_2e.slice");
  assert.equal(
    cgroupDirectory(path, "systemd"),
    "/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod1f_2e.slice",
  );
});
