import assert from "node:assert/strict";
import { test } from "node:test";
import { checkedImage, checkedName, checkedNamespace } from "./checked-names.ts";

const refused = { code: "CLI_INVALID_VALUE" };

test("images that no runtime takes are refused", () => {
  const digest = `sha256:${"0f".repeat(32)}`;
  for (const image of [
    "fjord",
    "fjord/fjord:1.0",
    "registry.example:5000/a/b-c__d.e:v1_2.3",
    "localhost/fjord",
    "[::1]:5000/fjord:1",
    `registry.example/fjord@${digest}`,
    `registry.example/fjord:1@${digest}`,
  ])
    assert.equal(checkedImage("--image", image), image);
  for (const image of [
    "",
    ":",
    "a b",
    "fjord:",
    ":1",
    "Fjord/Agent",
    "a//b",
    "/a",
    "a/",
    "fjord:1:2",
    "-x",
    "a\nb",
    "a@sha256:12",
  ])
    assert.throws(() => checkedImage("--image", image), refused, image);
});

test("names that no API takes are refused", () => {
  for (const name of ["lively-wave", "a", "1", "wave.example", "a".repeat(253)])
    assert.equal(checkedName("--name", name), name);
  for (const name of ["", "Bad_Name", "a b", "-a", "a-", ".a", "a..b", "a.-b", "a".repeat(254), "a\n"])
    assert.throws(() => checkedName("--name", name), refused, name);
});

test("namespaces that no API takes are refused", () => {
  for (const name of ["fjord-system", "a", "1", "a".repeat(63)])
    assert.equal(checkedNamespace("--namespace", name), name);
  for (const name of ["", "a b", "A", "-a", "a-", "a.b", "a".repeat(64), "a\n"])
    assert.throws(() => checkedNamespace("--namespace", name), refused, name);
});
