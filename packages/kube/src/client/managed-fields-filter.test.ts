import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { test } from "node:test";
import fc from "fast-check";
import { Pod } from "../kinds/core.ts";
import { KubeClient } from "./client.ts";
import { ManagedFieldsFilter } from "./managed-fields-filter.ts";

/** Filters a text that arrives in pieces cut at the given places. */
function filtered(text: string, cuts: readonly number[] = []): string {
  const bytes = Buffer.from(text);
  const places = [...new Set(cuts.map((cut) => cut % (bytes.length + 1)))].sort((a, b) => a - b);
  const filter = new ManagedFieldsFilter();
  const parts = [0, ...places].map((start, index) => filter.push(bytes.subarray(start, places[index] ?? bytes.length)));
  return Buffer.concat([...parts, filter.end()]).toString();
}

test("takes the field out wherever it stands, with one comma", () => {
  const list = (fields: string) => `{"metadata":{"managedFields":[1]},"items":[{"metadata":{${fields}},"spec":{}}]}`;
  const field = '"managedFields":[{"manager":"a,]}\\"","fieldsV1":{"f:x":{}}}]';
  assert.equal(filtered(list(`"name":"a",${field}`)), list('"name":"a"'));
  assert.equal(filtered(list(`${field},"name":"a"`)), list('"name":"a"'));
  assert.equal(filtered(list(`"a":1,${field},"b":{"c":2}`)), list('"a":1,"b":{"c":2}'));
  assert.equal(filtered(list(field)), list(""));
  assert.equal(filtered(list('"managedFields":null,"b":2')), list('"b":2'));
  assert.equal(filtered(list('"a":1, "managedFields" : null')), list('"a":1'));
});

test("leaves alone what only has the same name", () => {
  for (const text of [
    '{"items":[{"spec":{"metadata":{"managedFields":[1]}}}]}',
    '{"items":[{"spec":{"managedFields":[1]},"metadata":{"labels":{"managedFields":"x"}}}]}',
    '{"items":[{"managedFields":[1],"metadata":{"annotations":{"a":",\\"managedFields\\":[1]"}}}]}',
    '{"other":[{"metadata":{"managedFields":[1]}}],"metadata":{"metadata":{"x":{"managedFields":[1]}}}}',
  ])
    assert.equal(filtered(text), text);
});

test("a list that leaves the field out has all the rest, over a socket", async () => {
  const pod = { metadata: { name: "a", managedFields: [{ manager: "b" }], uid: "c" }, spec: { nodeName: "n" } };
  const server = createServer((_, response) =>
    response.end(JSON.stringify({ kind: "PodList", apiVersion: "v1", metadata: {}, items: Array(3_000).fill(pod) })),
  ).listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  await using client = new KubeClient({ server: `http://127.0.0.1:${port}`, namespace: "default", tls: {} });
  const { items } = await client.list(Pod, { omitManagedFields: true });
  assert.equal(items.length, 3_000);
  for (const { metadata, spec } of items) assert.deepEqual([metadata, spec?.nodeName], [{ name: "a", uid: "c" }, "n"]);
  const whole = await client.list(Pod);
  assert.deepEqual(whole.items[0]?.metadata.managedFields, [{ manager: "b" }]);
  server.close();
});

const key = fc.oneof(
  { weight: 3, arbitrary: fc.constantFrom("managedFields", "metadata", "items", "spec", "name") },
  { weight: 1, arbitrary: fc.string() },
);
const { value } = fc.letrec<{ value: unknown }>((tie) => ({
  value: fc.oneof(
    { depthSize: "small", withCrossShrink: true },
    fc.oneof(fc.string(), fc.integer(), fc.boolean(), fc.constant(null)),
    fc.array(tie("value"), { maxLength: 4 }),
    fc.dictionary(key, tie("value"), { maxKeys: 5, noNullPrototype: true }),
  ),
}));
const item = fc.record({
  metadata: fc.dictionary(key, value, { maxKeys: 5, noNullPrototype: true }),
  spec: value,
});

test("gives the same list as parsing it all and deleting the field, however the text is cut", () => {
  const lists = fc.record({ kind: fc.string(), metadata: value, items: fc.array(item, { maxLength: 4 }), tail: value });
  fc.assert(
    fc.property(lists, fc.array(fc.nat(), { maxLength: 12 }), fc.constantFrom(0, 1), (list, cuts, indent) => {
      const expected = structuredClone(list);
      for (const { metadata } of expected.items) delete (metadata as Record<string, unknown>).managedFields;
      assert.deepEqual(JSON.parse(filtered(JSON.stringify(list, undefined, indent), cuts)), expected);
    }),
    { numRuns: 2_000 },
  );
});
