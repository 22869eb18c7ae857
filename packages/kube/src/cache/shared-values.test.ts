import assert from "node:assert/strict";
import { test } from "node:test";
import { isDeepStrictEqual } from "node:util";
import fc from "fast-check";
import { heapUsed } from "./heap-used.ts";
import { SharedValues } from "./shared-values.ts";

const text = fc.oneof(fc.string({ maxLength: 30 }), fc.constantFrom("a text that is met often", "another such text"));
const json = fc.dictionary(
  fc.constantFrom("a", "b", "c", "0", "__proto__"),
  fc.oneof(text, fc.array(text), fc.jsonValue()),
);
const parsed = json.map((value) => JSON.parse(JSON.stringify(value)) as object);

test("sharing changes no value, and nothing of what it is shared with", () => {
  fc.assert(
    fc.property(parsed, fc.option(parsed), fc.option(parsed), fc.boolean(), (object, before, last, isLike) => {
      const values = new SharedValues();
      const models = [isLike ? { ...structuredClone(object), ...before } : before, last];
      if (last !== null) values.keep(last);
      const all = [object, ...models];
      const unshared = structuredClone(all);
      values.share(object, models[0] ?? undefined);
      assert.ok(isDeepStrictEqual(all, unshared));
    }),
  );
});

const POD = `{
  "metadata":{"name":"web-NUMBER","uid":"00000000-0000-0000-0000-NUMBER","labels":{"app":"web"}},
  "spec":{
    "containers":[{"name":"main","image":"registry.example.com/team/web:v1","resources":{"requests":{"cpu":"10m"}}}],
    "tolerations":[{"key":"node.kubernetes.io/unreachable","operator":"Exists"}]
  },
  "status":{"podIP":"10.0.NUMBER","conditions":[{"type":"Ready","status":"False","at":"2026-01-01T00:00:00Z"}]}
}`;

test("objects that are alike take less than half of the memory, also when they have changed", () => {
  const heapOf = (values: SharedValues | undefined) => {
    const before = heapUsed();
    const objects: object[] = [];
    for (const status of ["False", "True"])
      for (let at = 0; at < 5_000; at++) {
        const object = JSON.parse(POD.replaceAll("NUMBER", String(100_000 + at)).replace("False", status)) as object;
        values?.share(object, objects[at]);
        values?.keep(object);
        objects[at] = object;
      }
    return (heapUsed() - before) / objects.length;
  };
  const shared = heapOf(new SharedValues());
  const unshared = heapOf(undefined);
  assert.ok(shared < 0.4 * unshared, `${shared} bytes each, and ${unshared} unshared`);
});

test("what runs has its parts in common with the last that runs, whatever came in between", () => {
  const values = new SharedValues();
  const pod = (status: object) => {
    const object = structuredClone({ metadata: { labels: { app: "web" } }, status });
    values.share(object);
    values.keep(object);
    return object as { metadata: { labels: object }; status: { conditions?: object } };
  };
  const running = { phase: "Running", conditions: [{ type: "Ready", status: "True" }] };
  const first = pod(running);
  const waiting = pod({ phase: "Pending" });
  const second = pod(running);
  assert.equal(second.status.conditions, first.status.conditions);
  assert.notEqual(second.status, waiting.status);
});

test("the frozen parts that a client shares are left alone", () => {
  const object = { fieldsV1: Object.freeze({ text: "the same text twice" }), spec: { text: "the same text twice" } };
  const before = structuredClone(object);
  const values = new SharedValues();
  for (let round = 0; round < 2; round++) values.share(object);
  assert.deepEqual(object, before);
});

test("an object of any depth is taken", () => {
  const levels = 50_000;
  const object = JSON.parse(`${'{"a":'.repeat(levels)}"a text to be shared"${"}".repeat(levels)}`) as object;
  new SharedValues().share(object);
});
