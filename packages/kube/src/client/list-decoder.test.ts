import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { ListDecoder } from "./list-decoder.ts";

type List = { items?: unknown[] | null };

function decode(text: string, chunkBytes: number, batchBytes: number): List {
  const decoder = new ListDecoder<List>({ batchBytes });
  const bytes = Buffer.from(text);
  for (let start = 0; start < bytes.length; start += chunkBytes)
    decoder.push(bytes.subarray(start, start + chunkBytes));
  return decoder.end();
}

/** Texts that look like what the decoder cuts at. */
const text = fc.oneof(
  fc.string({ unit: "grapheme" }),
  fc.constantFrom('},{"metadata":{', "},{", '"items":[{"metadata":', "}]}", "\\"),
);
/** Not for keys: after one with a backslash, V8's JSON.parse takes others for it (https://github.com/nodejs/node/issues/63785). */
const hasBackslash = (value: unknown) => JSON.stringify(value).includes("\\\\");
const key = text.filter((each) => !hasBackslash(each));
const metadata = fc.record({ name: text, labels: fc.dictionary(key, text, { maxKeys: 2 }) });
const nested = fc.array(fc.record({ metadata, apiVersion: text }), { maxLength: 3 });
const item = fc.oneof(
  fc.record({ metadata, spec: fc.record({ items: nested, volumeClaimTemplates: nested }) }),
  fc.record({ apiVersion: text, kind: text, ownerReferences: nested, metadata }),
  fc.jsonValue().filter((value) => !hasBackslash(value)),
);
const list = fc.record({
  kind: text,
  metadata: fc.record({ continue: text }),
  items: fc.array(item, { maxLength: 12 }),
});

test("gives what JSON.parse gives, however the list looks and wherever it is cut", () => {
  fc.assert(
    fc.property(
      list,
      fc.boolean(),
      fc.integer({ min: 1, max: 50 }),
      fc.integer({ min: 1, max: 200 }),
      (value, last, chunk, batch) => {
        const { items, ...rest } = value;
        const text = JSON.stringify(last ? { ...rest, items } : { items, ...rest });
        assert.deepEqual(decode(text, chunk, batch), JSON.parse(text));
      },
    ),
    { numRuns: 500 },
  );
});

test("takes what is no list, or none that can be cut, as it is", () => {
  for (const value of [
    "{}",
    '{"items":null}',
    '{"items":[]}',
    '[{"items":[{"a":1}]}]',
    '{"a":{"items":[{"b":1},{"b":2}]}}',
    "7",
  ]) {
    assert.deepEqual(decode(value, 3, 1), JSON.parse(value), value);
  }
  const pretty = JSON.stringify({ items: [{ a: 1 }, { a: 2 }] }, undefined, 2);
  assert.deepEqual(decode(pretty, 7, 1), JSON.parse(pretty));
});

test("refuses what is not JSON, or not whole", () => {
  const whole = JSON.stringify({ kind: "List", items: [{ metadata: { name: "a" } }, { metadata: { name: "b" } }] });
  for (let length = 0; length < whole.length; length++) {
    assert.throws(() => decode(whole.slice(0, length), 5, 8), SyntaxError, whole.slice(0, length));
  }
  assert.throws(() => decode("<html>", 5, 1), SyntaxError);
});
