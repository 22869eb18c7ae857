import assert from "node:assert/strict";
import { test } from "node:test";
import type { Node } from "@fjord/kube";
import { selectorMissed } from "./selector-missed.ts";

const node = (name: string, labels: Record<string, string>): Node => ({ metadata: { name, labels } }) as Node;

test("says what was asked for, and what each virtual node has instead", () => {
  const nodes = [node("lively-wave", { "fjord.dev/tier": "cloud" }), node("frosty-wood", {})];
  assert.equal(
    selectorMissed({ matchLabels: { "fjord.dev/tier": "clod" } }, nodes),
    "no virtual node matches spec.sites (--selector), fjord.dev/tier=clod: lively-wave has fjord.dev/tier=cloud; frosty-wood has no fjord.dev/tier",
  );
});

test("tells of a node only what is missing there", () => {
  const matchExpressions = [{ key: "gpu", operator: "Exists" as const }];
  const nodes = [node("a", { zone: "one" }), node("b", { gpu: "yes", zone: "two" })];
  assert.equal(
    selectorMissed({ matchLabels: { zone: "one" }, matchExpressions }, nodes),
    "no virtual node matches spec.sites (--selector), zone=one, the label gpu: a has no gpu; b has zone=two",
  );
});

test("has an answer where there is no node, and is short where there are many", () => {
  assert.match(selectorMissed({}, []), /^there is no virtual node yet: `fjord peer`/);
  const nodes = Array.from({ length: 50 }, (_, index) => node(`n-${index}`, {}));
  const matchExpressions = [{ key: "zone", operator: "NotIn" as const, values: ["a", "b"] }];
  const many = nodes.map(({ metadata }) => node(metadata.name ?? "", { zone: "a" }));
  assert.match(selectorMissed({ matchExpressions }, many), /zone NotIn \[a, b\]: n-0 has zone=a; .*there are 47 more$/);
});
