import assert from "node:assert/strict";
import { test } from "node:test";
import { cronErrorText } from "./cron-schedule.ts";
import { countIndexes } from "./job-indexes.ts";

test("schedules are read as Kubernetes reads them", () => {
  for (const good of ["* * * * *", "*/5 0-6,12 1 jan-mar MON", "@hourly", "@every 1h30m", "0 0 ? * 0"]) {
    assert.equal(cronErrorText(good), undefined, good);
  }
  const bad: [string, string][] = [
    ["* * *", "expected exactly 5 fields, found 3: [* * *]"],
    ["61 * * * *", "end of range (61) above maximum (59): 61"],
    ["* * 0 * *", "beginning of range (0) below minimum (1): 0"],
    ["5-1 * * * *", "beginning of range (5) beyond end of range (1): 5-1"],
    ["*/0 * * * *", "step of range should be a positive number: */0"],
    ["x * * * *", 'failed to parse int from x: strconv.Atoi: parsing "x": invalid syntax'],
    ["@never", "unrecognized descriptor: @never"],
  ];
  for (const [schedule, text] of bad) assert.equal(cronErrorText(schedule), text);
});

test("indexes of jobs are counted", () => {
  assert.equal(countIndexes("", 5), 0);
  assert.equal(countIndexes("1,3-4", 5), 3);
  assert.equal(countIndexes("1-5", 5), 'too large index: "5"');
  assert.equal(countIndexes("2,1", 5), "non-increasing order, previous: 2, current: 1");
  assert.equal(countIndexes("x", 5), 'cannot convert string to integer for index: "x"');
});
