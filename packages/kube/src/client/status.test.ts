import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { exitCodeOf } from "../stream/exit-status.ts";
import { ApiError, apiErrorFromBody, isGone, isNotServed, isTooManyRequests } from "./api-error.ts";
import { normalStatus } from "./status.ts";

const odd = fc.jsonValue({ maxDepth: 2 });
const cause = fc.oneof(odd, fc.record({ reason: odd, message: odd, field: odd }));
const details = fc.oneof(
  odd,
  fc.record({ name: odd, causes: fc.oneof(odd, fc.array(cause)), retryAfterSeconds: fc.oneof(odd, fc.double()) }),
);
const status = fc.record(
  { kind: fc.constantFrom("Status", 7), status: odd, message: odd, reason: odd, code: odd, metadata: odd, details },
  { requiredKeys: ["kind"] },
);

test("no Status, of whatever shape, breaks those who read it", () => {
  fc.assert(
    fc.property(fc.oneof(odd, status), (value) => {
      const text = JSON.stringify(value);
      const error = apiErrorFromBody("act", 500, text);
      for (const check of [isGone, isNotServed, isTooManyRequests]) check(error);
      assert.equal(typeof error.reason, "string");
      assert.doesNotMatch(error.message, /\[object Object\]/);
      for (const one of error.details.causes ?? []) assert.match(typeof (one.message ?? ""), /string/);
      const { retryAfterSeconds = 0 } = error.details;
      assert.ok(retryAfterSeconds >= 0 && retryAfterSeconds <= 3600);
      assert.deepEqual(new ApiError({ action: "act", statusCode: 500, status: value }).status, normalStatus(value));
      try {
        assert.ok(Number.isSafeInteger(exitCodeOf(text, "run")));
      } catch (thrown) {
        assert.ok(thrown instanceof ApiError, String(thrown));
        assert.ok(Number.isInteger(thrown.statusCode));
      }
    }),
    { numRuns: 500 },
  );
});

test("keeps what has the right shape beside what has not", () => {
  const given = { kind: "Status", message: "no", reason: 5, code: "x", details: { causes: [null, { field: "a" }, 7] } };
  assert.deepEqual(normalStatus(given), { kind: "Status", message: "no", details: { causes: [{ field: "a" }] } });
  assert.equal(normalStatus({ details: { retryAfterSeconds: 1e9 } }).details?.retryAfterSeconds, 3600);
  assert.equal(normalStatus({ details: { retryAfterSeconds: -1e9 } }).details?.retryAfterSeconds, undefined);
});
