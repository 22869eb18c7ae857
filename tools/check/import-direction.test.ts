import assert from "node:assert/strict";
import { test } from "node:test";
import { findViolations } from "./import-direction.ts";

const manifests = [
  { package: "base", dependencies: [] },
  { package: "api", dependencies: ["@fjord/base"] },
  { package: "kube", dependencies: ["@fjord/base", "undici"] },
  { package: "continuum", dependencies: ["@fjord/base", "@fjord/api", "@fjord/kube"] },
  { package: "testbed", dependencies: ["@fjord/kube"] },
];

function messages(path: string, text: string): string[] {
  return findViolations([{ path, text }], manifests).map((violation) => violation.message);
}

test("imports downwards that are declared pass", () => {
  assert.deepEqual(messages("packages/kube/src/a.ts", 'import { sleep } from "@fjord/base";\nimport "undici";\n'), []);
  assert.deepEqual(messages("packages/testbed/src/a.ts", 'import type { X } from "@fjord/kube";'), []);
});

test("an import upwards is refused and says which way dependencies point", () => {
  assert.deepEqual(messages("packages/base/src/a.ts", 'import { KubeClient } from "@fjord/kube";'), [
    "base must not import kube: dependencies point from kube to base",
  ]);
});

test("kube does not know Fjord's kinds although api stands below it", () => {
  assert.deepEqual(messages("packages/kube/src/a.ts", 'import type { Site } from "@fjord/api";'), [
    "kube knows nothing of api and must not import it",
  ]);
});

test("tests and benchmarks may import the test bed, sources may not", () => {
  const text = 'import { startTestSite } from "@fjord/testbed/testing";';
  assert.deepEqual(messages("packages/kube/src/a.integration.test.ts", text), []);
  assert.deepEqual(messages("packages/kube/bench/subjects/a.ts", text), []);
  assert.deepEqual(messages("packages/kube/src/test-server.ts", text), []);
  assert.equal(messages("packages/kube/src/a.ts", text).length, 1);
});

test("sources do not import what is there for tests", () => {
  const text = 'import { TestServer } from "./test-server.ts";';
  assert.deepEqual(messages("packages/kube/src/a.ts", text), ["./test-server.ts is there for tests only"]);
  assert.deepEqual(messages("packages/kube/src/a.test.ts", text), []);
  assert.deepEqual(messages("packages/kube/src/test-client.ts", text), []);
});

test("an undeclared dependency is refused", () => {
  assert.deepEqual(messages("packages/kube/src/a.ts", 'import { parse } from "yaml";'), [
    "kube imports yaml, which packages/kube/package.json does not declare",
  ]);
});

test("packages without I/O may not import Node's modules, their tests may", () => {
  assert.deepEqual(messages("packages/api/src/a.ts", 'import { readFileSync } from "node:fs";'), [
    "api does no I/O: it must not import node:fs",
  ]);
  assert.deepEqual(messages("packages/api/src/a.test.ts", 'import { readFileSync } from "node:fs";'), []);
});

test("a relative path may not leave its package", () => {
  assert.deepEqual(messages("packages/kube/src/cache/a.ts", 'import { x } from "../../../base/src/clock.ts";'), [
    "../../../base/src/clock.ts leaves the package kube: import other packages by name",
  ]);
});

test("a domain may import a sibling's index but not its inside", () => {
  const path = "packages/continuum/src/offload/a.ts";
  assert.deepEqual(messages(path, 'import { x } from "../peering/index.ts";'), []);
  assert.deepEqual(messages(path, 'import { x } from "../peering/tenant.ts";'), [
    "offload reaches into the inside of peering: import peering/index.ts",
  ]);
  assert.deepEqual(messages(path, 'import { x } from "./b.ts";'), []);
});

test("an unknown package has to be put in its place first", () => {
  assert.match(messages("packages/kube/src/a.ts", 'import "@fjord/colour";')[0] ?? "", /not in the list of packages/);
});
