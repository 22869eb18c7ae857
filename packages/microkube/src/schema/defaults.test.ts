import assert from "node:assert/strict";
import { test } from "node:test";
import { builtInSchemas } from "./built-in-schemas.ts";
import { applyDefaults } from "./defaults.ts";
import type { Schema } from "./schema.ts";

test("fills in what is not there, also in lists and maps, and below what it filled in", () => {
  const inner: Schema = { type: "object", properties: { b: { type: "integer", default: 1 } } };
  const schema: Schema = {
    type: "object",
    properties: {
      list: { type: "array", items: inner },
      map: { type: "object", additionalProperties: inner },
      made: { ...inner, default: {} },
      none: { type: "string", nullable: true, default: "x" },
      some: { type: "string", default: "y" },
    },
  };
  const value = { list: [{}, { b: 5 }], map: { k: {} }, none: null, some: null };
  applyDefaults(value, schema);
  assert.deepEqual(value, { list: [{ b: 1 }, { b: 5 }], map: { k: { b: 1 } }, made: { b: 1 }, none: null, some: "y" });
});

test("defaults are copies, each object has its own", () => {
  const schema: Schema = { type: "object", properties: { a: { type: "array", default: [1] } } };
  const [one, other]: { a?: number[] }[] = [{}, {}];
  applyDefaults(one, schema);
  applyDefaults(other, schema);
  one?.a?.push(2);
  assert.deepEqual(other, { a: [1] });
});

test("a port speaks TCP unless it says otherwise", () => {
  const schema = builtInSchemas().of({ group: "", version: "v1", kind: "Service" }) as Schema;
  const service = { spec: { ports: [{ port: 80 }, { port: 53, protocol: "UDP" }] } };
  applyDefaults(service, schema);
  assert.deepEqual(service.spec.ports, [
    { port: 80, protocol: "TCP" },
    { port: 53, protocol: "UDP" },
  ]);
});
