import assert from "node:assert/strict";
import { test } from "node:test";
import { ManualClock } from "@fjord/base/testing";
import { ApiError } from "@fjord/kube";
import { ListRefusal, refusalAdvice } from "./list-refusal.ts";

function answer(statusCode: number, reason: string): ApiError {
  const status = { kind: "Status", apiVersion: "v1", status: "Failure", code: statusCode, reason, message: reason };
  return new ApiError({ action: "list", statusCode, status } as unknown as ConstructorParameters<typeof ApiError>[0]);
}

const forbidden = answer(403, "Forbidden");

test("a refused list is told of once it is more than a moment's, and again before its event is forgotten", async () => {
  const clock = new ManualClock();
  const refusal = new ListRefusal(clock);
  assert.equal(refusal.failed(forbidden), false);
  assert.equal(refusal.answer, undefined);
  assert.equal(refusal.failed(forbidden), true);
  assert.equal(refusal.answer, forbidden);
  assert.equal(refusal.failed(forbidden), false);
  await clock.advance(31 * 60_000);
  assert.equal(refusal.failed(forbidden), true);
});

test("a site that does not answer refuses nothing", () => {
  const refusal = new ListRefusal(new ManualClock());
  for (const error of [answer(503, "ServiceUnavailable"), new Error("no route"), undefined])
    for (let time = 0; time < 3; time++) assert.equal(refusal.failed(error), false);
  refusal.failed(forbidden);
  refusal.failed(forbidden);
  refusal.failed(answer(503, "ServiceUnavailable"));
  assert.equal(refusal.answer, undefined);
});

test("who is to list a custom resource is said of no other kind", () => {
  assert.match(
    refusalAdvice({ group: "example.com", plural: "boats" }),
    /owner has to serve boats\.example\.com, .*list it/,
  );
  assert.equal(refusalAdvice({ group: "", plural: "services" }), "");
});
