import assert from "node:assert/strict";
import { test } from "node:test";
import type { KubeObject } from "@fjord/base";
import { builtInSchemas } from "../schema/built-in-schemas.ts";
import type { Schema } from "../schema/schema.ts";
import { apply, updateManagedFields } from "./field-manager.ts";

// How all this goes together is held against a real server in field-manager.integration.test.ts.

const schema = builtInSchemas().of({ group: "", version: "v1", kind: "ConfigMap" }) as Schema;
type ConfigMap = KubeObject & { data?: Record<string, string> };
const object = (data?: Record<string, string>, metadata = {}): ConfigMap => ({
  apiVersion: "v1",
  kind: "ConfigMap",
  metadata: { name: "c", ...metadata },
  ...(data && { data }),
});
const by = (name: string, time = "2026-01-01T00:00:00Z") => ({ name, apiVersion: "v1", time });
const applied = (
  live: KubeObject | undefined,
  data: Record<string, string>,
  name: string,
  force = false,
  time?: string,
) => apply({ live, config: object(data), schema, manager: by(name, time), force }) as ConfigMap;

test("an apply makes an object, and owns what it says", () => {
  const { data, metadata } = applied(undefined, { a: "1" }, "one");
  assert.deepEqual(data, { a: "1" });
  assert.deepEqual(metadata.managedFields, [
    {
      manager: "one",
      operation: "Apply",
      apiVersion: "v1",
      time: "2026-01-01T00:00:00Z",
      fieldsType: "FieldsV1",
      fieldsV1: { "f:data": { "f:a": {} } },
    },
  ]);
});

test("what a manager no longer applies goes, unless somebody else owns it too", () => {
  const both = applied(applied(undefined, { a: "1", b: "2" }, "one"), { b: "2" }, "two");
  assert.deepEqual(applied(both, {}, "one").data, { b: "2" });
  assert.deepEqual(applied(applied(both, {}, "one"), { c: "3" }, "two").data, { c: "3" });
});

test("a conflict is refused with its causes, and forced", () => {
  const live = applied(undefined, { a: "1", b: "2" }, "one");
  assert.throws(() => applied(live, { a: "9" }, "two"), {
    code: 409,
    reason: "Conflict",
    message: 'Apply failed with 1 conflict: conflict with "one": .data.a',
    details: { causes: [{ reason: "FieldManagerConflict", message: 'conflict with "one"', field: ".data.a" }] },
  });
  assert.throws(() => applied(live, { a: "9", b: "9" }, "two"), {
    message: 'Apply failed with 2 conflicts: conflicts with "one":\n- .data.a\n- .data.b',
  });
  const forced = applied(live, { a: "9" }, "two", true);
  assert.deepEqual(forced.data, { a: "9", b: "2" });
  assert.deepEqual(
    (forced.metadata.managedFields as { fieldsV1: unknown }[]).map(({ fieldsV1 }) => fieldsV1),
    [{ "f:data": { "f:b": {} } }, { "f:data": { "f:a": {} } }],
  );
});

test("an apply that changes nothing leaves everything as it was, times too", () => {
  const live = applied(undefined, { a: "1" }, "one");
  assert.deepEqual(applied(live, { a: "1" }, "one", false, "2027-01-01T00:00:00Z"), live);
});

test("an update owns what it changes, and takes it from others", () => {
  const live = { ...applied(undefined, { a: "1", b: "2" }, "one") };
  live.metadata = { ...live.metadata, uid: "u" };
  const next = updateManagedFields(live, { ...live, data: { a: "2", b: "2" } } as ConfigMap, schema, by("ui"));
  assert.deepEqual(
    (next.metadata.managedFields as { manager: string; fieldsV1: unknown }[]).map(({ manager, fieldsV1 }) => [
      manager,
      fieldsV1,
    ]),
    [
      ["one", { "f:data": { "f:b": {} } }],
      ["ui", { "f:data": { "f:a": {} } }],
    ],
  );
});

test("reset fields are nobody's", () => {
  const made = updateManagedFields(undefined, object({ a: "1" }), schema, by("ui"), [["data"]]);
  assert.equal(made.metadata.managedFields, undefined);
});

test("inputs stay as they are", () => {
  const live = applied(undefined, { a: "1" }, "one");
  const before = structuredClone(live);
  applied(live, { b: "1" }, "one");
  updateManagedFields(live, object({ z: "1" }), schema, by("ui"));
  assert.deepEqual(live, before);
});

test("a configuration that does not fit is refused by path", () => {
  const wrong: [unknown, string][] = [
    [{ ...object(), foo: 1 }, ".foo: field not declared in schema"],
    [object({ a: 5 as unknown as string }), ".data.a: expected string, got &value.valueUnstructured{Value:5}"],
    [{ ...object(), immutable: "x" }, ".immutable: expected boolean, got &{x}"],
    [{ ...object(), data: [] }, ".data: expected map, got &{[]}"],
  ];
  for (const [config, why] of wrong) {
    assert.throws(
      () => apply({ live: undefined, config: config as KubeObject, schema, manager: by("x"), force: false }),
      {
        message: `failed to create typed patch object (/c; v1, Kind=ConfigMap): ${why}`,
      },
    );
  }
});

test("custom resources: unknown fields that are kept are owned one by one, lists as one", () => {
  const custom: Schema = {
    type: "object",
    properties: {
      apiVersion: { type: "string" },
      kind: { type: "string" },
      metadata: { type: "object", properties: { name: { type: "string" } } },
      spec: { type: "object", preserveUnknown: true },
    },
  };
  const config = { apiVersion: "v1", kind: "Foo", metadata: { name: "c" }, spec: { a: { b: 1 }, c: [1, 2] } };
  const { metadata } = apply({ live: undefined, config, schema: custom, manager: by("x"), force: false });
  const [entry] = metadata.managedFields as { fieldsV1: unknown }[];
  assert.deepEqual(entry?.fieldsV1, { "f:spec": { "f:a": { ".": {}, "f:b": {} }, "f:c": {} } });
});
