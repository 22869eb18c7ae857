import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { plainLiterals } from "./object-literals.ts";

describe("objects that policies write", () => {
  const cases: [string, string][] = [
    ["object.spec.replicas > 3", "object.spec.replicas > 3"],
    ["Object{spec: Object.spec{replicas: 3}}", '{"spec": {"replicas": 3}}'],
    ['Object{metadata: Object.metadata{annotations: {"a": "b"}}}', '{"metadata": {"annotations": {"a": "b"}}}'],
    [
      '[JSONPatch{op: "add", path: "/spec/x", value: object.a ? 1 : 2}]',
      '[{"op": "add", "path": "/spec/x", "value": object.a ? 1 : 2}]',
    ],
    ["Object{spec: Object.spec{items: [Object.spec.items{name: 'x'}]}}", '{"spec": {"items": [{"name": \'x\'}]}}'],
    ["has(object.Object) ? 'Object{a: 1}' : \"b\"", "has(object.Object) ? 'Object{a: 1}' : \"b\""],
    ["Object{spec: x ? y : z}", '{"spec": x ? y : z}'],
  ];
  for (const [written, plain] of cases) {
    it(`are plain maps here: ${written}`, () => assert.equal(plainLiterals(written), plain));
  }
});
