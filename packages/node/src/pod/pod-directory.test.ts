import assert from "node:assert/strict";
import { basename } from "node:path";
import { test } from "node:test";
import { logDirectory, uidOfLogDirectory } from "./pod-directory.ts";
import { newPod } from "./testing/pod-bench.ts";

test("the logs of a pod are in a folder of its namespace, its name and its uid", () => {
  const folder = logDirectory("/state", newPod("web", {}, { uid: "42" }));
  assert.equal(folder, "/state/logs/default_web_42");
  assert.equal(uidOfLogDirectory(basename(folder)), "42");
});

test("the longest names that a pod can have still make a folder, and one of its own", () => {
  const uid = "7429a80f-5077-4eff-be4b-f377454e884b";
  const pod = newPod("n".repeat(253), {}, { uid, namespace: "s".repeat(63) });
  const folder = basename(logDirectory("/state", pod));
  assert.equal(folder.length, 255);
  assert.equal(uidOfLogDirectory(folder), uid);
});
