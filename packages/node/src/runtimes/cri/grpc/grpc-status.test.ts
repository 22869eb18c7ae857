import assert from "node:assert/strict";
import { test } from "node:test";
import { statusOf, timeoutHeader } from "./grpc-status.ts";

test("a status has its words, which may hold any character", () => {
  assert.deepEqual(statusOf({ "grpc-status": "5", "grpc-message": "no %22h%C3%B8st%22" }), {
    status: 5,
    message: 'no "høst"',
  });
  assert.deepEqual(statusOf({ "grpc-status": "0" }), { status: 0, message: "" });
  assert.deepEqual(statusOf({ "grpc-status": "2", "grpc-message": "100%" }), { status: 2, message: "100%" });
});

test("what is no status is none", () => {
  assert.equal(statusOf({}), undefined);
  assert.equal(statusOf({ "grpc-status": "well" }), undefined);
});

test("deadlines have at most eight digits", () => {
  assert.equal(timeoutHeader(1500), "1500m");
  assert.equal(timeoutHeader(0.2), "1m");
  assert.equal(timeoutHeader(1e9), "1000000S");
});
