import assert from "node:assert/strict";
import { test } from "node:test";
import { Contract, newObject } from "@fjord/api";
import fc from "fast-check";
import { canonicalJson } from "./canonical-json.ts";
import { SiteKey } from "./site-key.ts";
import { signTerms, verifyTerms } from "./terms-signature.ts";

/**
 * Values of JSON, with texts that can be written. Without what is written with a backslash, since it would be in keys too:
 * after such a key, V8's JSON.parse takes others for it (https://github.com/nodejs/node/issues/63785).
 */
const letter = fc.constantFrom("a", "b", "Z", "0", "/", "\u007f", "é", "€", "\ufb33", "😀");
const json = fc.jsonValue({ stringUnit: letter, maxDepth: 6 });

test("reading the canonical text gives the value back", () => {
  fc.assert(
    fc.property(json, (value) => {
      assert.deepEqual(JSON.parse(canonicalJson(value)), JSON.parse(JSON.stringify(value)));
    }),
  );
});

test("equal values have one text, in whatever order their keys came", () => {
  fc.assert(
    fc.property(json, fc.infiniteStream(fc.nat()), (value, numbers) => {
      assert.equal(canonicalJson(shuffled(value, numbers)), canonicalJson(value));
      assert.equal(canonicalJson(JSON.parse(canonicalJson(value))), canonicalJson(value));
    }),
  );
});

test("different values have different texts", () => {
  fc.assert(
    fc.property(json, json, (a, b) => {
      const same = canonicalJson(a) === canonicalJson(b);
      const equal = isEqual(JSON.parse(JSON.stringify(a)), JSON.parse(JSON.stringify(b)));
      assert.equal(same, equal);
    }),
  );
});

test("it is written as RFC 8785 has it", () => {
  const vectors: [unknown, string][] = [
    [{ b: 1, a: [true, null, "x"] }, '{"a":[true,null,"x"],"b":1}'],
    [[333333333.3333333, 1e30, 4.5, 2e-3, 1e-27, -0], "[333333333.3333333,1e+30,4.5,0.002,1e-27,0]"],
    [
      { "\u20ac": 1, "\r": 2, "1": 3, "\u0080": 4, "\u{1f600}": 5, "\ufb33": 6 },
      '{"\\r":2,"1":3,"\u0080":4,"€":1,"😀":5,"\ufb33":6}',
    ],
    ['\u20ac$\u000f\nA\'B"\\\\"/', '"€$\\u000f\\nA\'B\\"\\\\\\\\\\"/"'],
    [{ a: undefined, b: { c: undefined } }, '{"b":{}}'],
    [JSON.parse('{"__proto__":1}'), '{"__proto__":1}'],
  ];
  for (const [value, text] of vectors) assert.equal(canonicalJson(value), text);
});

test("what JSON does not hold is refused", () => {
  const circle: unknown[] = [];
  circle.push(circle);
  const none = [
    undefined,
    Number.NaN,
    Infinity,
    1n,
    Symbol("x"),
    () => 1,
    new Date(0),
    new Map(),
    [undefined],
    new Array(1),
    { a: "\ud800" },
    { "\udc00": 1 },
    circle,
  ];
  for (const value of none) assert.throws(() => canonicalJson(value), { code: "IDENTITY_NOT_CANONICAL" });
});

test("a signature over terms holds for these terms only, however they are ordered", async () => {
  const [key, other] = await Promise.all([SiteKey.generate(), SiteKey.generate()]);
  const { terms } = newObject(Contract, Contract.example as Parameters<typeof newObject<typeof Contract>>[1]).spec;
  const signature = signTerms(key, terms);
  const turned = Object.fromEntries(Object.entries(terms).reverse()) as unknown as typeof terms;
  assert.ok(verifyTerms(key.publicKey, turned, signature));
  assert.ok(verifyTerms(key.publicKey, JSON.parse(JSON.stringify(terms)), signature));
  assert.ok(!verifyTerms(other.publicKey, terms, signature));
  for (const change of [
    { id: "c-2" },
    { notAfter: "2031-01-01T00:00:00Z" },
    { resources: { cpu: 400 } },
    { supersedes: "c-0" },
  ]) {
    assert.ok(!verifyTerms(key.publicKey, { ...terms, ...change }, signature), JSON.stringify(change));
  }
});

function shuffled(value: unknown, numbers: Iterator<number>): unknown {
  if (Array.isArray(value)) return value.map((item) => shuffled(item, numbers));
  if (typeof value !== "object" || value === null) return value;
  const members = Object.entries(value).map(([key, member]) => ({ key, member, at: Number(numbers.next().value) }));
  members.sort((a, b) => a.at - b.at);
  const made: Record<string, unknown> = Object.create(null);
  for (const { key, member } of members) made[key] = shuffled(member, numbers);
  return made;
}

function isEqual(a: unknown, b: unknown): boolean {
  try {
    assert.deepEqual(a, b);
    return true;
  } catch {
    return false;
  }
}
