import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { test } from "node:test";
import fc from "fast-check";
import { Pod } from "../kinds/core.ts";
import { KubeClient } from "./client.ts";
import { ListDecoder } from "./list-decoder.ts";
import { parseWithoutManagedFields } from "./managed-fields-filter.ts";

/** Reads a list that arrives in pieces and is parsed in batches. */
function read(text: string, { chunk = 1024, batch = 4096 } = {}): unknown {
  const decoder = new ListDecoder({ batchBytes: batch, parse: parseWithoutManagedFields });
  const bytes = Buffer.from(text);
  for (let start = 0; start < bytes.length; start += chunk) decoder.push(bytes.subarray(start, start + chunk));
  return decoder.end();
}

/** What is to be read: all but the field. */
function expected(text: string): unknown {
  const list = JSON.parse(text) as { items: { metadata?: Record<string, unknown> | null }[] };
  for (const item of list.items) delete item?.metadata?.managedFields;
  return list;
}

test("takes the field out wherever it stands, whatever it holds", () => {
  const list = (fields: string) => `{"metadata":{"managedFields":[1]},"items":[{"metadata":{${fields}},"spec":{}}]}`;
  const field = '"managedFields":[{"manager":"a,]}\\"","fieldsV1":{"f:x":{}}}]';
  for (const [fields, rest] of [
    [`"name":"a",${field}`, '"name":"a"'],
    [`${field},"name":"a"`, '"name":"a"'],
    [`"a":1,${field},"b":{"c":2}`, '"a":1,"b":{"c":2}'],
    [field, ""],
    ['"managedFields":[]', ""],
    ['"managedFields":null,"b":2', '"b":2'],
    ['"a":1, "managedFields" : null', '"a":1'],
    ['"managedF\\u0069elds":[1],"b":2', '"b":2'],
    ['"managedFields":[1],"managedFields":[2],"b":2', '"b":2'],
    ['"managedFields":[{"v:[1]":[[2],"]"]}],"b":2', '"b":2'],
    ['"managedFields":[{"managedFields":[1]}],"b":2', '"b":2'],
    ['"managedFields":["]",":"],"b":["]",":"]', '"b":["]",":"]'],
    ['"managedFields":[{"],":{":":1}}],"b":2', '"b":2'],
  ] as const)
    assert.deepEqual(read(list(fields)), JSON.parse(list(rest)), fields);
});

test("leaves alone what only has the same name", () => {
  const own = '"metadata":{"managedFields":[{"manager":"a"}]}';
  for (const item of [
    '"spec":{"metadata":{"managedFields":[1]}}',
    '"spec":{"managedFields":[1]},"metadata":{"labels":{"managedFields":"x"}}',
    '"managedFields":[1],"metadata":{"annotations":{"a":",\\"managedFields\\":[1]"}}',
    `"data":{"managedFields":[1]},${own}`,
    `"data":{"x\\"managedFields":[1]},${own}`,
    `"spec":{"items":[{${own}}]},${own}`,
  ])
    for (const text of [
      `{"items":[{${item}},{${own}}]}`,
      `{"other":[{${own}}],"items":[{${item}}],"metadata":{${own}}}`,
    ])
      assert.deepEqual(read(text), expected(text), text);
});

test("takes no entry for an item, where entries look like items", () => {
  const managedFields = [
    { metadata: { a: { b: [1] } } },
    { metadata: 2 },
    { metadata: { a: { b: ["]"] } } },
    { a: [] },
  ];
  const entries = [managedFields, managedFields.slice(1), [{ a: { b: [1] } }, { metadata: {} }], [{ metadata: "}}]" }]];
  const text = JSON.stringify({
    items: [...entries, ...entries].map((managedFields) => ({ metadata: { managedFields } })),
  });
  for (let chunk = 1; chunk < text.length; chunk++)
    assert.deepEqual(read(text, { chunk, batch: 1 }), expected(text), String(chunk));
});

test("arrays within arrays take no longer than others of their length", () => {
  const deep = `${'{"managedFields":['.repeat(200_000)}${"]}".repeat(200_000)}`;
  assert.deepEqual(read(`{"items":[{"metadata":${deep}}]}`, { chunk: 65_536, batch: 262_144 }), {
    items: [{ metadata: {} }],
  });
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

const name = fc.constantFrom("managedFields", "metadata", "items", "spec", "name", 'x"managedFields');
const text = fc.oneof(
  fc.string({ unit: "grapheme" }),
  fc.constantFrom("]", "[", '],"managedFields":[', "}]},{", ":", ",", '"', "\\"),
);
/** Without backslashes: after a key with one, V8's JSON.parse takes others for it (https://github.com/nodejs/node/issues/63785). */
const otherName = text.filter((text) => !text.includes("\\"));
const key = fc.oneof({ weight: 3, arbitrary: name }, { weight: 1, arbitrary: otherName });
const { value } = fc.letrec<{ value: unknown }>((tie) => ({
  value: fc.oneof(
    { depthSize: "small", withCrossShrink: true },
    fc.oneof(text, fc.integer(), fc.boolean(), fc.constant(null)),
    fc.array(tie("value"), { maxLength: 4 }),
    fc.dictionary(key, tie("value"), { maxKeys: 5, noNullPrototype: true }),
  ),
}));
const item = fc.record({
  metadata: fc.dictionary(key, value, { maxKeys: 5, noNullPrototype: true }),
  spec: value,
});
/** Other ways to write the same, or to say a thing twice. */
const spelling = fc.constantFrom<(text: string) => string>(
  (text) => text,
  (text) => text.replaceAll('"managedFields":', '"managedFields" : '),
  (text) => text.replace('"managedFields":', '"managedF\\u0069elds":'),
  (text) => text.replaceAll('"managedFields":', '"managedFields":[{"]":1}],"managedFields":'),
);

test("gives the same list as parsing it all and deleting the field, however the text is written and cut", () => {
  const items = fc.array(fc.oneof({ weight: 6, arbitrary: item }, { weight: 1, arbitrary: value }), { maxLength: 6 });
  const lists = fc.record({ kind: text, metadata: value, items, tail: value });
  const sizes = fc.record({ chunk: fc.integer({ min: 1, max: 200 }), batch: fc.integer({ min: 1, max: 2_000 }) });
  fc.assert(
    fc.property(lists, spelling, sizes, fc.constantFrom(0, 1), (list, spell, size, indent) => {
      const text = spell(JSON.stringify(list, undefined, indent));
      assert.deepEqual(read(text, size), expected(text));
    }),
    { numRuns: 2_000 },
  );
});
