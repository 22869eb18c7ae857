import assert from "node:assert/strict";
import { test } from "node:test";
import type { ControllerRevision } from "@fjord/kube";
import { byRevision, revisionData, templateOf } from "./revision-history.ts";

test("a template is kept as a patch with sorted fields, and read back", () => {
  const template = { spec: { containers: [{ name: "main", image: "i" }] }, metadata: { labels: { b: "2", a: "1" } } };
  const data = revisionData(template);
  assert.equal(
    JSON.stringify(data),
    '{"spec":{"template":{"$patch":"replace","metadata":{"labels":{"a":"1","b":"2"}},"spec":{"containers":[{"image":"i","name":"main"}]}}}}',
  );
  assert.deepEqual(templateOf({ data } as unknown as ControllerRevision), template);
});

test("revisions are sorted by their number", () => {
  const revision = (name: string, number: number) =>
    ({ metadata: { name }, revision: number }) as unknown as ControllerRevision;
  const sorted = byRevision([revision("b", 3), revision("c", 1), revision("a", 3)]);
  assert.deepEqual(
    sorted.map(({ metadata }) => metadata.name),
    ["c", "a", "b"],
  );
});
