import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { exitCodeOf } from "./exit-status.ts";

const ended = (message: string) =>
  JSON.stringify({
    status: "Failure",
    reason: "NonZeroExitCode",
    details: { causes: [{ reason: "ExitCode", message }] },
  });

describe("what the server says on the error channel", () => {
  it("is an exit code where the command ran", () => {
    assert.equal(exitCodeOf('{"metadata":{},"status":"Success"}', "run"), 0);
    assert.equal(exitCodeOf(ended("1"), "run"), 1);
    assert.equal(exitCodeOf(ended("137"), "run"), 137);
  });

  const failures: [string, string, string][] = [
    [
      "a Status",
      '{"status":"Failure","reason":"InternalError","message":"no runtime","code":500}',
      "cannot run: no runtime (500 InternalError)",
    ],
    ["an exit code that is none", ended("soon"), "cannot run: no message (500 NonZeroExitCode)"],
    ["plain words", "container not running", "cannot run: container not running (500)"],
    ["JSON of another kind", "[]", "cannot run: no message (500)"],
    ["null", "null", "cannot run: null (500)"],
  ];
  for (const [what, text, message] of failures) {
    it(`is the API's error where it did not: ${what}`, () => {
      assert.throws(() => exitCodeOf(text, "run"), { name: "ApiError", message });
    });
  }
});
