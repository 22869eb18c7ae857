import assert from "node:assert/strict";
import { test } from "node:test";
import { didYouMean, nearest } from "./suggestion.ts";

test("a name that is nearly right is recognised", () => {
  const names = ["harbour", "lively-wave", "edge-1", "edge-2"];
  assert.equal(nearest("lively-wve", names), "lively-wave");
  assert.equal(nearest("harbor", names), "harbour");
  assert.equal(nearest("livelywave", names), "lively-wave");
  assert.equal(nearest("edge-3", names), "edge-1");
  assert.equal(nearest("wbe", ["api", "web"]), "web");
  assert.equal(nearest("cloud", names), undefined);
  assert.equal(nearest("x", []), undefined);
  assert.equal(didYouMean("harbr", names), " (did you mean harbour?)");
  assert.equal(didYouMean("zzz", names), "");
});
