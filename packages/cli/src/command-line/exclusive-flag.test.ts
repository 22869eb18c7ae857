import assert from "node:assert/strict";
import { test } from "node:test";
import { Command } from "commander";
import { exclusiveFlag } from "./exclusive-flag.ts";

test("a flag is refused together with its opposite, in either order, and taken alone", () => {
  const parsed = (...words: string[]) => {
    const command = exclusiveFlag(new Command().option("--link", "").option("--no-link", ""), "link");
    return command.parse(words, { from: "user" }).opts().link;
  };
  assert.deepEqual([parsed(), parsed("--link", "--link"), parsed("--no-link")], [undefined, true, false]);
  assert.throws(() => parsed("--link", "--no-link"), /say the opposite/);
  assert.throws(() => parsed("--no-link", "--link"), /say the opposite/);
});
