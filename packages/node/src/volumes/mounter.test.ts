import assert from "node:assert/strict";
import { test } from "node:test";
import { mountOf, mountPointsBelow } from "./mounter.ts";

const table = `22 1 254:0 / / rw,relatime shared:1 - ext4 /dev/vda rw
30 22 0:30 / /state/memory rw - tmpfs tmpfs rw
31 22 0:31 / /state/pods/a/volumes/memory/x rw shared:9 - tmpfs tmpfs rw
32 31 254:0 /home /state/pods/a/volumes/memory/x/inner rw - ext4 /dev/vda rw
33 22 0:31 / /state/pods/a/volumes/memory/x rw shared:9 - tmpfs tmpfs rw
34 22 0:33 / /state/pods/ab/volumes/memory/x rw - tmpfs tmpfs rw
35 22 0:34 / /state/pods/a/with\\040space\\134 rw - tmpfs tmpfs rw
`;

test("mounts at and below a path are found, the last one first", () => {
  assert.deepEqual(mountPointsBelow(table, "/state/pods/a"), [
    "/state/pods/a/with space\\",
    "/state/pods/a/volumes/memory/x",
    "/state/pods/a/volumes/memory/x/inner",
    "/state/pods/a/volumes/memory/x",
  ]);
  assert.deepEqual(mountPointsBelow(table, "/state/memory"), ["/state/memory"]);
  assert.deepEqual(mountPointsBelow(table, "/nothing"), []);
});

test("the mount of a path is the last one over it, shared or not", () => {
  assert.deepEqual(mountOf(table, "/"), { point: "/", isShared: true });
  assert.deepEqual(mountOf(table, "/state/pods/a"), { point: "/", isShared: true });
  assert.deepEqual(mountOf(table, "/state/memory"), { point: "/state/memory", isShared: false });
  assert.deepEqual(mountOf(table, "/state/memory2"), { point: "/", isShared: true });
  assert.equal(mountOf(table, "/state/pods/a/volumes/memory/x/y")?.isShared, true);
  assert.equal(mountOf(table, "/state/pods/a/volumes/memory/x/inner/y")?.isShared, false);
  const slave = "30 22 0:30 / /a rw shared:2 master:1 - tmpfs tmpfs rw\n31 22 0:30 / /b rw master:1 - tmpfs - rw";
  assert.equal(mountOf(slave, "/a")?.isShared, true);
  assert.equal(mountOf(slave, "/b")?.isShared, false);
  assert.equal(mountOf("", "/"), undefined);
});
