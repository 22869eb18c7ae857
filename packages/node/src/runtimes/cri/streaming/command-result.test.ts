import assert from "node:assert/strict";
import { test } from "node:test";
import { commandResult } from "./command-result.ts";

test("a success is exit code 0", () => {
  assert.deepEqual(commandResult('{"metadata":{},"status":"Success"}'), { exitCode: 0 });
  assert.deepEqual(commandResult(""), { exitCode: 0 });
});

test("another exit code is among the causes", () => {
  const status = {
    status: "Failure",
    message: "command terminated with non-zero exit code: exit 9",
    reason: "NonZeroExitCode",
    details: { causes: [{ reason: "ExitCode", message: "9" }] },
  };
  assert.deepEqual(commandResult(JSON.stringify(status)), { exitCode: 9 });
});

test("everything else is a failure with its words", () => {
  const status = { status: "Failure", message: "no such container", reason: "InternalError" };
  assert.deepEqual(commandResult(JSON.stringify(status)), { failure: "no such container" });
  assert.deepEqual(commandResult("boom\n"), { failure: "boom" });
  assert.deepEqual(commandResult("null"), { failure: "null" });
  assert.deepEqual(commandResult('{"status":"Failure","reason":"NonZeroExitCode"}'), {
    failure: '{"status":"Failure","reason":"NonZeroExitCode"}',
  });
});
