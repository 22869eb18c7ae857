import assert from "node:assert/strict";
import { test } from "node:test";
import { structuralProblems } from "./structural.ts";

const problems = (schema: object) =>
  structuralProblems({ type: "object", properties: { a: schema } }, "root").map(({ field, detail }) => [field, detail]);

test("a pattern that no expression can be made of is refused with its definition", () => {
  assert.deepEqual(problems({ type: "string", pattern: "^(a|b)+$" }), []);
  for (const pattern of ["(", "(a{1000}){1000}", "(?=a)", "\\1"]) {
    const [[field, detail] = [], ...rest] = problems({ type: "string", pattern });
    assert.deepEqual([field, rest], ["root.properties[a].pattern", []], pattern);
    assert.match(String(detail), /^must be a valid regular expression, but isn't: error parsing regexp: /);
  }
});

test("the keys of a list's items are properties of their own", () => {
  const items = { type: "object", properties: { id: { type: "string" } } };
  const list = (key: string) => {
    const kind = { "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": [key] };
    return problems({ type: "array", items, ...kind });
  };
  assert.deepEqual(list("id"), []);
  assert.equal(list("constructor").length, 1);
});
