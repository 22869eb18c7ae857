import assert from "node:assert/strict";
import { it } from "node:test";
import { lineLogger } from "./line-logger.ts";

it("words of others steer no terminal that a log is read on, and stay what they are", () => {
  let written = "";
  const write = (line: string) => {
    written += line;
  };
  const hostile = "a\u001b[2J\u009b31m\u202eb\nc\u007f";
  lineLogger({ write, debug: false, now: () => new Date(0) }).warn("heard", {
    name: hostile,
    deep: [{ [hostile]: 1 }],
  });
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what it is about.
  assert.doesNotMatch(written.slice(0, -1), /[\u0000-\u001f\u007f-\u009f\u202a-\u202e]/);
  assert.equal(JSON.parse(/name=(".*?[^\\]") /.exec(written)?.[1] ?? "").toString(), hostile);
});
