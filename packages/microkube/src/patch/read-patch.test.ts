import assert from "node:assert/strict";
import { test } from "node:test";
import type { PatchKind } from "./patch.ts";
import { readPatch } from "./read-patch.ts";

const read = (text: string, kind: PatchKind) => readPatch(Buffer.from(text), kind);

test("says what is wrong with a body as the server does", () => {
  const wrong: [PatchKind, string, string][] = [
    ["json", "{}", "error decoding patch: json: cannot unmarshal object into Go value of type []handlers.jsonPatchOp"],
    ["json", "[5]", "error decoding patch: json: cannot unmarshal number into Go value of type handlers.jsonPatchOp"],
    ["json", "[", "error decoding patch: unexpected end of JSON input"],
    ["merge", "[]", "error decoding patch: json: cannot unmarshal array into Go value of type map[string]interface {}"],
    ["merge", "null", "Invalid JSON Patch"],
    ["merge", "", "error decoding patch: unexpected end of JSON input"],
    ["strategic", "5", "json: cannot unmarshal number into Go value of type map[string]interface {}"],
    ["strategic", "{", "unexpected end of JSON input"],
    [
      "apply",
      "[]",
      "error decoding YAML: error unmarshaling JSON: while decoding JSON: json: cannot unmarshal array into Go value of type map[string]interface {}",
    ],
  ];
  for (const [kind, text, message] of wrong) assert.throws(() => read(text, kind), { code: 400, message });
});

test("tells what a strict reader would not take", () => {
  assert.deepEqual(read('{"a":{"b":1,"b":2},"a":{}}', "merge").strict, ['duplicate field "a"']);
  assert.deepEqual(read('{"a":{"b":1,"b":2}}', "strategic").strict, ['duplicate field "a.b"']);
  assert.deepEqual(read('[{"op":"add","path":"/a","bar":6,"op":"add"}]', "json").strict, [
    'json patch unknown field "[0].bar"',
    'json patch duplicate field "[0].op"',
  ]);
  assert.deepEqual(read('{"a":{"q":1,"q":2}}', "apply").strict, ['line 1: key "q" already set in map']);
});

test("a configuration is YAML, and so may be JSON; nothing at all is an empty one", () => {
  assert.deepEqual(read("a: 1\nb: [x]\n", "apply").patch, { a: 1, b: ["x"] });
  assert.deepEqual(read('{"a":1}', "apply").patch, { a: 1 });
  assert.deepEqual(read("", "apply").patch, {});
});
