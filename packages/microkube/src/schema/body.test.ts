import assert from "node:assert/strict";
import { test } from "node:test";
import { parseJson, parseYaml } from "./body.ts";

const nested = (depth: number, open: string, close: string) => `${open.repeat(depth)}1${close.repeat(depth)}`;

test("what is nested beyond any stack is refused, however it is written", () => {
  for (const depth of [1_001, 100_000, 1_000_000]) {
    assert.throws(() => parseJson(nested(depth, "[", "]")), /exceeded max depth/);
    assert.throws(() => parseJson(nested(depth, '{"a":', "}")), /exceeded max depth/);
  }
  assert.throws(() => parseYaml(nested(2_000, "[", "]")));
  assert.throws(() => parseYaml(nested(2_000, "- ", "")));
  assert.doesNotThrow(() => parseJson(nested(1_000, "[", "]")));
});

test("brackets within texts are no nesting", () => {
  assert.deepEqual(parseJson(JSON.stringify(["[".repeat(5_000), '{"'.repeat(5_000)])).value, [
    "[".repeat(5_000),
    '{"'.repeat(5_000),
  ]);
});

test("what is nested beyond any stack in YAML is refused before it is built", () => {
  const indented = Array.from({ length: 1_500 }, (_, depth) => `${" ".repeat(depth)}a:\n`).join("");
  const lists = Array.from({ length: 1_500 }, (_, depth) => `${" ".repeat(depth)}-\n`).join("");
  const bad = [nested(500_000, "[", "]"), nested(300_000, "{a: ", "}"), "- ".repeat(500_000), "? ".repeat(500_000)];
  for (const text of [...bad, indented, lists, `a:\n  b: ${nested(1_000_000, "[", "")}`]) {
    assert.throws(() => parseYaml(text), { message: "yaml: exceeded max depth" });
  }
});

test("what is long in YAML, and not deep, is read", () => {
  const brackets = "[".repeat(5_000);
  const keys = Array.from({ length: 2_000 }, (_, index) => `k${index}:\n- ${index}\n`).join("");
  assert.equal(Object.keys(parseYaml(keys).value as object).length, 2_000);
  assert.deepEqual(parseYaml(`a: |\n  ${brackets}\n  - ${brackets}\nb: "${brackets}"\nc: x${brackets}\n`).value, {
    a: `${brackets}\n- ${brackets}\n`,
    b: brackets,
    c: `x${brackets}`,
  });
  const items = Array.from({ length: 2_000 }, () => "- a: [1, {b: 2}]\n  c:\n    d: 1\n").join("");
  assert.equal((parseYaml(items).value as unknown[]).length, 2_000);
});

test("aliases that would fill the memory, or take for ever, are refused", () => {
  const list = `a: &a [${"1,".repeat(20_000)}]\n`;
  const wide = `${list}b: [${"*a,".repeat(90)}]\n`;
  let merges = "a0: &a0 {x: 1}\n";
  for (let at = 1; at < 30; at++) merges += `a${at}: &a${at} {<<: [${`*a${at - 1},`.repeat(9)}], y${at}: 1}\n`;
  const many = `a: &a {${Array.from({ length: 5_000 }, (_, at) => `k${at}: 1`).join()}}\n${Array.from({ length: 2_000 }, (_, at) => `b${at}: {<<: *a}\n`).join("")}`;
  for (const text of [wide, merges, many]) {
    assert.throws(() => parseYaml(text), { message: "yaml: document contains excessive aliasing" });
  }
  const few = parseYaml("a: &a {x: 1}\nb: {<<: *a, z: 2}\nc: *a\n").value;
  assert.deepEqual(few, { a: { x: 1 }, b: { x: 1, z: 2 }, c: { x: 1 } });
});

test("what takes long to read as YAML, for what it says, is refused in time", () => {
  const refusals: [string, RegExp][] = [
    ["x".repeat(3 * 1024 * 1024), /more than 2097152 characters in YAML; send it as JSON$/],
    [`a: |\n${" x\n".repeat(300_000)}`, /more than 200000 lines in YAML/],
    ["}".repeat(2_000_000), /more than 100000 keys, values and marks in YAML/],
    [`a: b${" #c\n".repeat(190_000)}`, /more than 500000 parts in YAML/],
  ];
  for (const [text, message] of refusals) assert.throws(() => parseYaml(text), { code: 413, message });
});

test("a text with a mistake in each of its characters is refused for the first", () => {
  for (const text of ["}".repeat(90_000), `[${",".repeat(90_000)}]`]) {
    const began = process.cpuUsage();
    assert.throws(() => parseYaml(text), { message: /^yaml: line 1: / });
    const { user, system } = process.cpuUsage(began);
    assert(user + system < 5_000_000, `took ${user + system} µs`);
  }
});

test("times and bytes in YAML are texts", () => {
  const text = "a: 2026-01-01T00:00:00Z\nb: 2001-01-01\nc: 1:30\nd: !!binary aGk=\ne: 1.5\nf: 017\n";
  const value = { a: "2026-01-01T00:00:00Z", b: "2001-01-01", c: "1:30", d: "hi", e: 1.5, f: 15 };
  assert.deepEqual(parseYaml(text).value, value);
});
