import assert from "node:assert/strict";
import { test } from "node:test";
import { parse } from "yaml";
import { formatValue, nameLines, readOutput } from "./format.ts";

test("JSON and YAML say what was there, and steer no terminal with it", async () => {
  const value = { message: "\u001b[2J\u009b1A\u202egone\u007f\u2066", list: ["plain", "tëxt\n"], count: 1 };
  const json = (await formatValue(value, { format: "json" }, false)) ?? "";
  const yaml = (await formatValue(value, { format: "yaml" }, false)) ?? "";
  assert.deepEqual([JSON.parse(json), parse(yaml)], [value, value]);
  for (const text of [json, yaml]) assert.doesNotMatch(text, /(?!\n)\p{Cc}|\p{Bidi_Control}/u);
});

test("YAML of what is harmless is as readable as ever", async () => {
  assert.equal(
    await formatValue({ name: "lively-wave", tier: "edge" }, { format: "yaml" }, false),
    "name: lively-wave\ntier: edge\n",
  );
});

test("a template that is empty, and a format that a command does not have, are refused", () => {
  for (const text of ["jsonpath", "jsonpath="]) assert.throws(() => readOutput(text), /There is no template/);
  assert.throws(() => readOutput("name", ["json", "yaml"]), /It is one of json, yaml, jsonpath=TEMPLATE/);
  assert.deepEqual(readOutput("name"), { format: "name" });
  assert.equal(readOutput("jsonpath={.a}").format, "jsonpath");
});

test("names are as kubectl prints them: one word each, in a namespace or not", () => {
  const offloading = (namespace: string) =>
    ({ apiVersion: "fjord.dev/v1alpha1", kind: "Offloading", metadata: { name: "offloading", namespace } }) as const;
  const site = { apiVersion: "fjord.dev/v1alpha1", kind: "Site", metadata: { name: "wave" } } as const;
  assert.equal(
    nameLines([site, offloading("shop"), offloading("web")]),
    "site.fjord.dev/wave\noffloading.fjord.dev/offloading\noffloading.fjord.dev/offloading\n",
  );
});

test("what a template gives is as it is in a pipe, and steers no terminal", async () => {
  const output = readOutput('jsonpath={.message}{"\\n"}');
  const value = { message: "\u001b[2Jgone" };
  assert.equal(await formatValue(value, output, false), "\u001b[2Jgone\n");
  assert.equal(await formatValue(value, output, true), "^[[2Jgone\n");
});
