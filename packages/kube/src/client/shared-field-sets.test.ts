import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { test } from "node:test";
import fc from "fast-check";
import { Pod } from "../kinds/core.ts";
import { KubeClient } from "./client.ts";
import { ListDecoder } from "./list-decoder.ts";
import { SharedFieldSets } from "./shared-field-sets.ts";

interface Entry {
  manager?: string;
  fieldsV1?: Record<string, unknown>;
}

interface List {
  items: { metadata: { managedFields: Entry[] }; [field: string]: unknown }[];
}

function decode(text: string, fieldSets = new SharedFieldSets(), chunkBytes = 1024, batchBytes = 4096): List {
  const decoder = new ListDecoder<List>({
    batchBytes,
    parse: (before, text, itemsOf) => fieldSets.parse(before, text, itemsOf),
  });
  const bytes = Buffer.from(text);
  for (let start = 0; start < bytes.length; start += chunkBytes)
    decoder.push(bytes.subarray(start, start + chunkBytes));
  return decoder.end();
}

/** What a manager of some fields has, long enough to be worth sharing. */
function fields(label: string): Record<string, unknown> {
  return { "f:metadata": { "f:labels": { ".": {}, "f:app.kubernetes.io/name": {}, "f:tier": {}, [label]: {} } } };
}

function pods(labels: readonly string[]): List {
  return {
    items: labels.map((label, index) => ({
      metadata: { name: `p${index}`, managedFields: [{ manager: "a", fieldsV1: fields(label) }] },
    })),
  };
}

test("equal ones are one frozen object, over several lists too", () => {
  const fieldSets = new SharedFieldSets();
  const list = pods(Array.from({ length: 200 }, () => 'k:{"key":"}"}}'));
  const read = [1, 2].flatMap(() => decode(JSON.stringify(list), fieldSets).items);
  assert.deepEqual(read, [...list.items, ...list.items]);
  const shared = new Set(read.map(({ metadata }) => metadata.managedFields[0]?.fieldsV1));
  assert.equal(shared.size, 1);
  const isFrozen = (value: unknown): boolean =>
    Object.isFrozen(value) && Object.values(value as object).every((field) => isFrozen(field));
  assert.ok([...shared].every(isFrozen));
});

test("shares the runs of a list that is sorted, as those of a server are", () => {
  const labels = Array.from({ length: 300 }, (_, index) => `f:set-${Math.floor(index / 10)}`);
  const list = pods(labels);
  const read = decode(JSON.stringify(list));
  assert.deepEqual(read, list);
  assert.equal(new Set(read.items.map(({ metadata }) => metadata.managedFields[0]?.fieldsV1)).size, 30);
});

test("shares what is alike among what is not", () => {
  const list = pods(Array.from({ length: 300 }, () => "f:x"));
  for (const [index, { metadata }] of list.items.entries()) {
    const ip = `k:{"ip":"10.0.0.${index}"}`;
    metadata.managedFields.push({
      manager: "kubelet",
      fieldsV1: { "f:status": { "f:hostIP": {}, "f:phase": {}, "f:podIP": {}, "f:podIPs": { ".": {}, [ip]: {} } } },
    });
  }
  const read = decode(JSON.stringify(list));
  assert.deepEqual(read, list);
  assert.equal(new Set(read.items.map(({ metadata }) => metadata.managedFields[0]?.fieldsV1)).size, 1);
});

test("what lies elsewhere under the same name stays as it is, and can be changed", () => {
  const item = { metadata: { managedFields: [{ fieldsV1: fields("f:x") }] }, spec: { fieldsV1: fields("f:x") } };
  const list = { items: Array.from({ length: 50 }, () => item) };
  const read = decode(JSON.stringify(list));
  assert.deepEqual(read, list);
  for (const { spec } of read.items) Object.assign((spec as Required<Entry>).fieldsV1, { added: 1 });
  assert.ok(read.items.every(({ metadata }) => metadata.managedFields[0]?.fieldsV1?.added === undefined));
});

test("what a watch brings is shared with what was listed, over a socket", async () => {
  const { items } = pods(["f:x", "f:x"]);
  const server = createServer((request, response) => {
    const events = items.map((object) => `${JSON.stringify({ type: "ADDED", object })}\n`);
    response.end(request.url?.includes("watch") ? events.join("") : JSON.stringify({ kind: "PodList", items }));
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  await using client = new KubeClient({ server: `http://127.0.0.1:${port}`, namespace: "default", tls: {} });
  const listed = (await client.list(Pod)).items;
  const watched = await Array.fromAsync(client.watch(Pod), ({ object }) => object as Pod);
  const entries = [...listed, ...watched].map(({ metadata }) => metadata.managedFields?.[0] as Entry | undefined);
  const sets = entries.map((entry) => entry?.fieldsV1);
  assert.deepEqual(sets, Array(4).fill(fields("f:x")));
  assert.equal(new Set(sets).size, 1);
  server.close();
});

test("refuses what is not JSON, or not whole", () => {
  const whole = JSON.stringify(pods(["f:x", "f:x", "f:y"]));
  for (let length = 0; length < whole.length; length++)
    assert.throws(() => decode(whole.slice(0, length), undefined, 7, 64), SyntaxError, whole.slice(0, length));
  const broken = whole.replaceAll('"f:tier":{}', '"f:tier":{"f:no value"}');
  assert.throws(() => decode(broken), SyntaxError);
});

test("a value of any depth is taken", () => {
  const levels = 2_000;
  const deep = `${'{"a":'.repeat(levels)}{}${"}".repeat(levels)}`;
  const item = `{"metadata":{"managedFields":[{"fieldsV1":${deep}}]}}`;
  const { items } = decode(`{"items":[${item},${item}]}`);
  const [one, other] = items.map(({ metadata }) => metadata.managedFields[0]?.fieldsV1);
  assert.equal(one, other);
  assert.equal(JSON.stringify(one), deep);
});

/** Not in keys: after one with a backslash, V8's JSON.parse takes others for it (https://github.com/nodejs/node/issues/63785). */
const hasBackslash = (value: unknown) => JSON.stringify(value).includes("\\\\");
const key = fc.oneof(
  fc.constantFrom(
    "fieldsV1",
    '"fieldsV1',
    'x"fieldsV1":{',
    "otherV1",
    "metadata",
    "managedFields",
    "items",
    "__proto__",
  ),
  fc.string({ unit: "grapheme", maxLength: 5 }).filter((each) => !hasBackslash(each)),
);
const set = fc.oneof(
  { weight: 4, arbitrary: fc.constantFrom("f:x", "f:y", 'k:{"ip":"10.0.0.1"}', "f:ä€😀").map(fields) },
  { weight: 1, arbitrary: fc.jsonValue().filter((each) => !hasBackslash(each)) },
);
const { value } = fc.letrec<{ value: unknown }>((tie) => ({
  value: fc.oneof(
    { depthSize: "small", withCrossShrink: true },
    fc.oneof(
      fc.string({ unit: "grapheme" }),
      fc.integer(),
      fc.constant(null),
      set.map((own) => JSON.stringify(own)),
    ),
    set,
    fc.array(tie("value"), { maxLength: 4 }),
    fc.dictionary(key, tie("value"), { maxKeys: 4, noNullPrototype: true }),
    fc.record({ fieldsV1: set, time: fc.string() }),
  ),
}));
const entry = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.record({ manager: fc.string({ maxLength: 3 }), fieldsV1: set, subresource: fc.string() }),
  },
  { weight: 1, arbitrary: value },
);
const item = fc.oneof(
  { weight: 6, arbitrary: fc.record({ metadata: fc.record({ managedFields: fc.array(entry, { maxLength: 3 }) }) }) },
  {
    weight: 1,
    arbitrary: fc.record({ spec: value, metadata: fc.record({ annotations: value, managedFields: value }) }),
  },
  { weight: 1, arbitrary: value },
);
/** Other ways to write the same, or to say a thing twice. */
const spelling = fc.constantFrom<(text: string) => string>(
  (text) => text,
  (text) => text.replaceAll('"fieldsV1":', '"fieldsV1" : '),
  (text) => text.replace('"fieldsV1":', '"fields\\u00561":'),
  (text) => text.replaceAll('"managedFields":', '"managedF\\u0069elds":'),
  (text) => text.replaceAll('"fieldsV1":', '"fieldsV1":{"f:first":{}},"fieldsV1":'),
  (text) => text.replaceAll('"fieldsV1":', `"fieldsV1":${JSON.stringify(fields("f:x"))},"fieldsV1":`),
  (text) => text.replaceAll('"managedFields":', `"managedFields":[{"fieldsV1":${JSON.stringify(fields("f:x"))}}],$&`),
);

test("gives what JSON.parse gives, wherever the name is, however it is written, and whatever came before", () => {
  const fieldSets = new SharedFieldSets();
  const lists = fc.record({ kind: value, items: fc.array(item, { maxLength: 12 }), tail: value });
  const sizes = fc.record({ chunk: fc.integer({ min: 1, max: 200 }), batch: fc.integer({ min: 1, max: 2_000 }) });
  fc.assert(
    fc.property(lists, spelling, sizes, fc.constantFrom(0, 1), (list, spell, { chunk, batch }, indent) => {
      const text = spell(JSON.stringify(list, undefined, indent));
      assert.deepEqual(decode(text, fieldSets, chunk, batch), JSON.parse(text));
    }),
    { numRuns: 2_000 },
  );
});
