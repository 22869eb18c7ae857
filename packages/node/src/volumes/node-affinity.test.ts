import assert from "node:assert/strict";
import { test } from "node:test";
import { matchesTerms } from "./node-affinity.ts";

const node = { name: "node-1", labels: { zone: "a", disks: "4", "kubernetes.io/hostname": "node-1" } };

test("terms are alternatives, the requirements of a term are not", () => {
  const requirement = (
    key: string,
    operator: "In" | "NotIn" | "Exists" | "DoesNotExist" | "Gt" | "Lt",
    ...values: string[]
  ) => ({
    key,
    operator,
    values,
  });
  const cases: [ReturnType<typeof requirement>[][], boolean][] = [
    [[], false],
    [[[]], false],
    [[[requirement("zone", "In", "a", "b")]], true],
    [[[requirement("zone", "In", "b")]], false],
    [[[requirement("zone", "In", "b")], [requirement("zone", "In", "a")]], true],
    [[[requirement("zone", "In", "a"), requirement("disks", "Gt", "4")]], false],
    [[[requirement("zone", "In", "a"), requirement("disks", "Gt", "3")]], true],
    [[[requirement("disks", "Lt", "10")]], true],
    [[[requirement("disks", "Lt", "x")]], false],
    [[[requirement("zone", "Gt", "3")]], false],
    [[[requirement("zone", "NotIn", "a")]], false],
    [[[requirement("none", "NotIn", "a")]], true],
    [[[requirement("zone", "Exists")]], true],
    [[[requirement("toString", "Exists")]], false],
    [[[requirement("none", "DoesNotExist")]], true],
  ];
  for (const [terms, expected] of cases) {
    const all = terms.map((matchExpressions) => ({ matchExpressions }));
    assert.equal(matchesTerms(all, node), expected, JSON.stringify(terms));
  }
  assert.equal(matchesTerms([{ matchFields: [requirement("metadata.name", "In", "node-1")] }], node), true);
  assert.equal(matchesTerms([{ matchFields: [requirement("metadata.name", "In", "node-2")] }], node), false);
});
