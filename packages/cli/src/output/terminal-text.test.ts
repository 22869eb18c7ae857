import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { shown, shownInLine, TerminalLines } from "./terminal-text.ts";

const HOSTILE = "\u001b]0;owned\u0007\u001b[2J\u009b1A\rme\u202eevil\u007f";

test("what would steer a terminal is spelt out", () => {
  assert.equal(shown(HOSTILE), "^[]0;owned^G^[[2J\\u009b1A^Mme\\u202eevil^?");
  assert.equal(shown("two\nlines\tof plain tëxt ✓"), "two\nlines\tof plain tëxt ✓");
  assert.equal(shownInLine("first \r\n\tsecond\u001b[8m"), "first second^[[8m");
});

test("a log colours its own lines, and nothing else", () => {
  const lines = new TerminalLines();
  const text = `\u001b[1;31mred\nplain\r\n${HOSTILE}\u001b[32mgreen`;
  assert.equal(
    lines.take(text) + lines.rest(),
    "\u001b[1;31mred\u001b[0m\nplain\r\n^[]0;owned^G^[[2J\\u009b1A^Mme\\u202eevil^?\u001b[32mgreen\u001b[0m",
  );
});

test("however a log comes, a terminal gets the same, with no sequence but colours", () => {
  const word = fc.constantFrom("\u001b", "[", "31", ";", "m", "J", "\r", "\n", "\u009b", "a", "é", "]0;x\u0007");
  fc.assert(
    fc.property(fc.array(fc.array(word).map((words) => words.join(""))), (pieces) => {
      const [torn, whole] = [new TerminalLines(), new TerminalLines()];
      const printed = pieces.map((piece) => torn.take(piece)).join("") + torn.rest();
      assert.equal(printed, whole.take(pieces.join("")) + whole.rest());
      // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for.
      assert.doesNotMatch(printed.replaceAll(/\u001b\[[\d;:]*m|\r\n/g, ""), /(?![\n\t])\p{Cc}/u);
    }),
  );
});
