import assert from "node:assert/strict";
import { test } from "node:test";
import { mountPointsBelow } from "./mounter.ts";

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
