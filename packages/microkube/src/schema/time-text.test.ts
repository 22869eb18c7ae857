import assert from "node:assert/strict";
import { test } from "node:test";
import { canonicalMicroTime, canonicalTime } from "./time-text.ts";

test("times become UTC and lose what is below a second", () => {
  assert.equal(canonicalTime("2020-01-01T00:00:00Z"), "2020-01-01T00:00:00Z");
  assert.equal(canonicalTime("2020-01-01T00:00:00.5+01:00"), "2019-12-31T23:00:00Z");
  assert.equal(canonicalTime("2020-02-29T12:00:00-07:30"), "2020-02-29T19:30:00Z");
});

test("fine times keep six digits", () => {
  assert.equal(canonicalMicroTime("2020-01-01T00:00:00.123456+02:00"), "2019-12-31T22:00:00.123456Z");
});

test("says what is wrong as Go does", () => {
  const rfc = '"2006-01-02T15:04:05Z07:00"';
  const wrong: Record<string, string> = {
    x: `parsing time "x" as ${rfc}: cannot parse "x" as "2006"`,
    "": `parsing time "" as ${rfc}: cannot parse "" as "2006"`,
    "2020-13-01T00:00:00Z": 'parsing time "2020-13-01T00:00:00Z": month out of range',
    "2021-02-29T00:00:00Z": 'parsing time "2021-02-29T00:00:00Z": day out of range',
    "2020-12-01 00:00:00Z": `parsing time "2020-12-01 00:00:00Z" as ${rfc}: cannot parse " 00:00:00Z" as "T"`,
    "2020-12-01T00:00:00": `parsing time "2020-12-01T00:00:00" as ${rfc}: cannot parse "" as "Z07:00"`,
    "2020-12-01T00:00:00Zx": 'parsing time "2020-12-01T00:00:00Zx": extra text: "x"',
  };
  for (const [text, message] of Object.entries(wrong)) assert.throws(() => canonicalTime(text), { message });
  const micro = '"2006-01-02T15:04:05.000000Z07:00"';
  assert.throws(() => canonicalMicroTime("2020-01-01T00:00:00Z"), {
    message: `parsing time "2020-01-01T00:00:00Z" as ${micro}: cannot parse "Z" as ".000000"`,
  });
  assert.throws(() => canonicalMicroTime("2020-01-01T00:00:00.123456789+02:00"), {
    message: `parsing time "2020-01-01T00:00:00.123456789+02:00" as ${micro}: cannot parse "789+02:00" as "Z07:00"`,
  });
});
