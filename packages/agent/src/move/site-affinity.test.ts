import assert from "node:assert/strict";
import { test } from "node:test";
import { affinityFor, placeIn } from "./site-affinity.ts";

const zone = { key: "zone", operator: "In", values: ["a"] };
const disk = { key: "disk", operator: "Exists" };
const required = (...terms: object[]) => ({
  nodeAffinity: { requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms: terms as never[] } },
});

test("a move narrows every alternative, and what else was asked for holds", () => {
  const wish = { key: "fjord.dev/site", operator: "In", values: ["id"] };
  assert.deepEqual(affinityFor({ site: "id" }, undefined), required({ matchExpressions: [wish] }));
  const before = { ...required({ matchExpressions: [zone] }, { matchExpressions: [disk] }), podAffinity: {} };
  const after = {
    ...required({ matchExpressions: [zone, wish] }, { matchExpressions: [disk, wish] }),
    podAffinity: {},
  };
  assert.deepEqual(affinityFor({ site: "id" }, before), after);
  assert.deepEqual(placeIn(affinityFor({ site: "id" }, before)), { site: "id" });
});

test("a later move replaces an earlier one, and anywhere takes it back", () => {
  const before = required({ matchExpressions: [zone] });
  const moved = affinityFor({ site: "one" }, before);
  const home = affinityFor("home", moved);
  assert.equal(placeIn(home), "home");
  assert.deepEqual(affinityFor({ site: "one" }, home), moved);
  assert.deepEqual(affinityFor("anywhere", home), before);
  assert.equal(affinityFor("anywhere", affinityFor("home", undefined)), undefined);
});
