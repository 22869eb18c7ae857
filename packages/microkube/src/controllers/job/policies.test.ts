import assert from "node:assert/strict";
import { test } from "node:test";
import type { Job, Pod } from "@fjord/kube";
import { IndexSet } from "./index-set.ts";
import { failureOf, successOf } from "./policies.ts";

test("indexes are written as few ranges, and read back", () => {
  const text = (...indexes: number[]) => new IndexSet(indexes).toString();
  assert.equal(text(), "");
  assert.equal(text(3, 1, 2, 0), "0-3");
  assert.equal(text(0, 2, 3, 5, 6, 7, 9), "0,2,3,5-7,9");
  assert.equal(IndexSet.parse("0,2-4,x,9").toString(), "0,2-4,9");
  assert.equal(IndexSet.parse("0-9", 3).toString(), "0-2");
  assert.equal(IndexSet.parse(undefined).size, 0);
});

const pod = (codes: Record<string, number>, conditions: object[] = []): Pod =>
  ({
    metadata: { name: "p", namespace: "shop" },
    status: {
      conditions,
      containerStatuses: Object.entries(codes).map(([name, exitCode]) => ({
        name,
        state: { terminated: { exitCode } },
      })),
    },
  }) as unknown as Pod;

test("the first rule that matches says what a failure means", () => {
  const policy = {
    rules: [
      { action: "Ignore", onPodConditions: [{ type: "DisruptionTarget", status: "True" }] },
      { action: "FailJob", onExitCodes: { containerName: "main", operator: "In", values: [42] } },
      { action: "FailIndex", onExitCodes: { operator: "NotIn", values: [1, 42] } },
    ],
  } as Parameters<typeof failureOf>[0];
  assert.equal(failureOf(undefined, pod({ main: 42 })).action, "Count");
  assert.deepEqual(failureOf(policy, pod({ side: 0, main: 42 })), {
    action: "FailJob",
    message: "Container main for pod shop/p failed with exit code 42 matching FailJob rule at index 1",
  });
  assert.equal(failureOf(policy, pod({ side: 42 })).action, "Count");
  assert.equal(failureOf(policy, pod({ main: 7 })).action, "FailIndex");
  assert.equal(failureOf(policy, pod({ main: 1 })).action, "Count");
  const disrupted = pod({ main: 42 }, [{ type: "DisruptionTarget", status: "True" }]);
  assert.equal(failureOf(policy, disrupted).action, "Ignore");
});

test("a Job may succeed before all its indexes have", () => {
  const job = (...rules: object[]) => ({ spec: { completions: 10, successPolicy: { rules } } }) as unknown as Job;
  const done = new IndexSet([0, 2, 3]);
  assert.equal(successOf(job({ succeededCount: 3 }), done), "Matched rules at index 0");
  assert.equal(successOf(job({ succeededCount: 4 }, { succeededIndexes: "2-3" }), done), "Matched rules at index 1");
  assert.equal(successOf(job({ succeededIndexes: "1-3" }), done), undefined);
  assert.equal(successOf(job({ succeededIndexes: "1-3", succeededCount: 2 }), done), "Matched rules at index 0");
  assert.equal(successOf(job({ succeededCount: 1 }), new IndexSet()), undefined);
});
