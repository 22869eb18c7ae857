import assert from "node:assert/strict";
import { test } from "node:test";
import { lacksInotify } from "./node-wait.ts";

test("what programs of a node say where no inotify instance is left is known", () => {
  assert.ok(
    lacksInotify(
      'E1116 14:57:48.560353   18459 run.go:72] "command failed" err="failed complete: too many open files"',
    ),
  );
  assert.ok(lacksInotify("failed to create fsnotify watcher: inotify_init: too many open files"));
  assert.ok(!lacksInotify('"command failed" err="accept tcp 127.0.0.1:10250: too many open files"'));
});
