import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { FieldSet, fieldSetOf, keyElement, pathText, valueElement } from "./field-set.ts";

const element = fc.constantFrom("f:a", "f:b", 'k:{"name":"x"}', 'v:"y"', "i:0");
const sets = fc.array(fc.array(element, { minLength: 1, maxLength: 3 }), { maxLength: 6 }).map((paths) => {
  const set = new FieldSet();
  for (const path of paths) set.insert(path);
  return set;
});
const texts = (set: FieldSet) => new Set([...set.paths()].map((path) => JSON.stringify(path)));

test("sets of paths behave as sets", () => {
  fc.assert(
    fc.property(sets, sets, (one, other) => {
      const [a, b] = [texts(one), texts(other)];
      assert.deepEqual(texts(one.union(other)), a.union(b));
      assert.deepEqual(texts(one.intersection(other)), a.intersection(b));
      assert.deepEqual(texts(one.difference(other)), a.difference(b));
      assert.equal(one.empty, a.size === 0);
      for (const path of one.paths()) assert.ok(one.has(path));
    }),
  );
});

test("are read as they are written", () => {
  fc.assert(
    fc.property(sets, (set) => {
      const fields = set.toFields();
      assert.deepEqual(texts(fieldSetOf(fields)), texts(set));
      assert.deepEqual(fieldSetOf(JSON.parse(JSON.stringify(fields))).toFields(), fields);
    }),
  );
});

test("without a set is without all that is below its members", () => {
  const set = fieldSetOf({ "f:spec": { ".": {}, "f:a": { "f:b": {} } }, "f:status": { "f:c": {} } });
  assert.deepEqual(set.without(fieldSetOf({ "f:status": {} })).toFields(), {
    "f:spec": { ".": {}, "f:a": { "f:b": {} } },
  });
  assert.deepEqual(set.without(fieldSetOf({ "f:spec": { "f:a": {} } })).toFields(), {
    "f:spec": {},
    "f:status": { "f:c": {} },
  });
});

test("are written as Kubernetes writes them", () => {
  const set = new FieldSet();
  const ports = [
    "f:ports",
    keyElement([
      ["protocol", "TCP"],
      ["containerPort", 80],
    ]),
  ];
  set.insert(ports);
  set.insert([...ports, "f:name"]);
  set.insert(["f:finalizers", valueElement("x")]);
  assert.deepEqual(set.toFields(), {
    "f:finalizers": { 'v:"x"': {} },
    "f:ports": { 'k:{"containerPort":80,"protocol":"TCP"}': { ".": {}, "f:name": {} } },
  });
  assert.equal(pathText([...ports, "f:name"]), '.ports[containerPort=80,protocol="TCP"].name');
  assert.equal(pathText(["f:finalizers", 'v:"x"', "i:3"]), '.finalizers[="x"][3]');
});

test("what is none is refused", () => {
  for (const wrong of [[], 5, null, { name: {} }, { "f:a": 5 }]) assert.throws(() => fieldSetOf(wrong), TypeError);
});
