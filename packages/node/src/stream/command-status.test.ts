import assert from "node:assert/strict";
import { test } from "node:test";
import { commandStatus } from "./command-status.ts";

test("what a runtime says of a command that it cannot run is said once, however many layers repeat it", () => {
  const why = 'error executing command in container: exec: "nosuch": executable file not found in $PATH';
  const { message, reason } = commandStatus({
    error: new Error(`Internal error occurred: Internal error occurred: ${why}`),
  });
  assert.equal(message, why);
  assert.equal(reason, "InternalError");
});
