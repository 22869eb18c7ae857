import assert from "node:assert/strict";
import { test } from "node:test";
import { missedTimes } from "./missed-times.ts";
import { parseSchedule } from "./schedule.ts";
import { isKnownZone, zonedTimestamp } from "./zone.ts";

function next(text: string, after: string, zone?: string): string | undefined {
  const time = parseSchedule(text, zone).next(Date.parse(after));
  return time === undefined ? undefined : new Date(time).toISOString().slice(0, 16);
}

test("times follow from the fields", () => {
  const at = "2030-01-01T00:00:30Z";
  assert.equal(next("* * * * *", at), "2030-01-01T00:01");
  assert.equal(next("*/15 * * * *", at), "2030-01-01T00:15");
  assert.equal(next("5/20 * * * *", at), "2030-01-01T00:05");
  assert.equal(next("30 2 * * *", at), "2030-01-01T02:30");
  assert.equal(next("0 0 29 2 *", at), "2032-02-29T00:00");
  assert.equal(next("0 12 * * mon-fri", "2030-01-05T13:00:00Z"), "2030-01-07T12:00");
  assert.equal(next("0 0 13 * 5", at), "2030-01-04T00:00", "either day will do");
  assert.equal(next("0 0 1,15 JUN *", at), "2030-06-01T00:00");
  assert.equal(next("@hourly", at), "2030-01-01T01:00");
  assert.equal(next("@every 1h30m", at), "2030-01-01T01:30");
  assert.equal(next("0 0 31 2 *", at), undefined);
});

test("a zone's clocks are heeded, also on days when they change", () => {
  assert.equal(next("30 2 * * *", "2030-07-01T00:00:00Z", "Europe/Oslo"), "2030-07-01T00:30");
  assert.equal(next("0 12 * * *", "2030-01-01T00:00:00Z", "America/New_York"), "2030-01-01T17:00");
  assert.equal(
    next("30 2 * * *", "2030-03-30T12:00:00Z", "Europe/Oslo"),
    "2030-04-01T00:30",
    "no such time that night",
  );
  assert.equal(next("0 6 * * *", "2030-10-26T12:00:00Z", "Europe/Oslo"), "2030-10-27T05:00");
  assert.equal(zonedTimestamp(Date.UTC(2030, 0, 1), "America/New_York"), "2029-12-31T19:00:00-05:00");
  assert.equal(zonedTimestamp(Date.UTC(2030, 0, 1), "UTC"), "2030-01-01T00:00:00Z");
  assert.deepEqual([isKnownZone("Asia/Kathmandu"), isKnownZone("Middle/Earth")], [true, false]);
});

test("what is wrong is said", () => {
  const wrong: Record<string, RegExp> = {
    "* * * *": /expected exactly 5 fields, found 4/,
    "60 * * * *": /above maximum \(59\)/,
    "x * * * *": /failed to parse int/,
    "*/0 * * * *": /positive number/,
    "9-3 * * * *": /beyond end of range/,
    "* * 0 * *": /below minimum \(1\)/,
    "@never": /unrecognized descriptor/,
    "@every soon": /duration/,
  };
  for (const [text, message] of Object.entries(wrong)) assert.throws(() => parseSchedule(text), message, text);
});

test("of the times that were missed the last one counts", () => {
  const hourly = parseSchedule("0 * * * *");
  const from = Date.UTC(2030, 0, 1, 0, 30);
  assert.deepEqual(missedTimes(hourly, from, from + 600_000), { count: 0 });
  const hours = missedTimes(hourly, from, from + 3 * 3_600_000);
  assert.deepEqual(hours, { count: 3, last: Date.UTC(2030, 0, 1, 3) });
  const months = missedTimes(parseSchedule("* * * * *"), from, from + 90 * 24 * 3_600_000);
  assert.ok(months.count > 100);
  assert.equal(months.last, from + 90 * 24 * 3_600_000);
});
