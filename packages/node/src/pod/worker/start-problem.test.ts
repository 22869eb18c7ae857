import assert from "node:assert/strict";
import { test } from "node:test";
import { LimitTooSmall } from "../../runtime/errors.ts";
import { asStartProblem, retryDelays, StartProblem } from "./start-problem.ts";

test("what is wrong with the machine is tried again soon, what is wrong with the pod less and less", () => {
  const busy = asStartProblem(new Error("ENOSPC"));
  assert.deepEqual([busy.reason, busy.message], ["CreateContainerError", "ENOSPC"]);
  assert.deepEqual(retryDelays(busy), { initial: 2_000, max: 10_000 });
  const small = asStartProblem(new LimitTooSmall({}));
  assert.equal(small.reason, "CreateContainerError");
  assert.match(small.message, /^the memory limit is too small/);
  assert.deepEqual(retryDelays(small), { initial: 10_000, max: 300_000 });
});

test("what is a problem already stays as it is", () => {
  const problem = new StartProblem("RunContainerError", "x");
  assert.equal(asStartProblem(problem), problem);
});
