import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { expand, unknownVariables } from "./expansion.ts";

const variables = new Map([
  ["A", "alpha"],
  ["B", "$(A)"],
  ["EMPTY", ""],
  ["with-hyphen.dot", "h"],
]);

test("references are replaced, escapes and unknown names are kept", () => {
  const cases: [string, string][] = [
    ["$(A)", "alpha"],
    ["x$(A)y$(A)z", "xalphayalphaz"],
    ["$(B)", "$(A)"],
    ["$(EMPTY)", ""],
    ["$(with-hyphen.dot)", "h"],
    ["$(NONE)", "$(NONE)"],
    ["$$(A)", "$(A)"],
    ["$$$(A)", "$alpha"],
    ["$$$$(A)", "$$(A)"],
    ["$$", "$"],
    ["$", "$"],
    ["a$", "a$"],
    ["$A", "$A"],
    ["$(A", "$(A"],
    ["$()", "$()"],
    ["$(A) $(NONE) $$(B)", "alpha $(NONE) $(B)"],
    ["$($(A))", "$($(A))"],
    ["$(A)$", "alpha$"],
  ];
  for (const [text, expanded] of cases) assert.equal(expand(text, variables), expanded, text);
});

test("unknown names are told, escaped ones are not", () => {
  assert.deepEqual(unknownVariables("$(A)/$(X)/$$(Y)/$(Z)", variables), ["X", "Z"]);
});

test("doubling every dollar sign keeps any text as it is", () => {
  fc.assert(
    fc.property(fc.string(), (text) => {
      assert.equal(expand(text.replaceAll("$", "$$$$"), variables), text);
    }),
  );
});
