import assert from "node:assert/strict";
import { test } from "node:test";
import { RecentLog } from "./recent-log.ts";

test("the newest lines are kept, whole and in order, within what they may take", () => {
  const log = new RecentLog(100);
  const all = Array.from({ length: 50 }, (_, index) => `line ${index}\n`);
  for (const line of all) log.add(line);
  assert.ok(log.text.length <= 100 && log.text.length >= 60, log.text);
  assert.ok(all.join("").endsWith(log.text) && log.text.startsWith("line "));
});

test("a line that is longer than all that may be kept is there nevertheless, alone", () => {
  const log = new RecentLog(10);
  log.add("short\n");
  log.add(`${"x".repeat(50)}\n`);
  assert.equal(log.text, `${"x".repeat(50)}\n`);
});
