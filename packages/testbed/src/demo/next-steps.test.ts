import assert from "node:assert/strict";
import { test } from "node:test";
import { nextSteps } from "./next-steps.ts";

const where = { file: "/d/env", url: "http://127.31.0.1:30080/", page: "http://127.31.0.1:7446" };

test("every step can be copied as it stands, with or without a kubectl", () => {
  const [with_, without] = [true, false].map((kubectl) => nextSteps({ ...where, kubectl })) as [string, string];
  for (const text of [with_, without]) {
    assert.match(text, /answers at http:\/\/127\.31\.0\.1:30080\//);
    assert.match(text, /^ {2}\. \/d\/env +# first/m);
    assert.match(text, /^ {2}demo cut frosty-wood +#/m);
    assert.match(text, /^ {2}demo page +# .*127\.31\.0\.1:7446/m);
  }
  assert.match(with_, /^ {2}kubectl --context green-smoke -n rush scale deploy\/crunch --replicas=8 +#/m);
  assert.doesNotMatch(without, /^ {2}kubectl/m);
  assert.match(without, /^ {2}demo scale rush\/crunch 8 --context green-smoke +#/m);
});
