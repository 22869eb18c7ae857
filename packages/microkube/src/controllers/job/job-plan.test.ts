import assert from "node:assert/strict";
import { test } from "node:test";
import type { Job, Pod } from "@fjord/kube";
import { planJob, retryDelay, setbacks } from "./job-plan.ts";
import { forgeJobPod, TRACKING } from "./job-pod.ts";
import { freshPods, isComplete, tally, verdictOf } from "./job-verdict.ts";

const NOW = Date.UTC(2030, 0, 1);

function job(spec: object, status: object = {}): Job {
  const template = { spec: { restartPolicy: "Never", containers: [{ name: "main" }] } };
  const metadata = { name: "work", namespace: "shop", uid: "j" };
  return { apiVersion: "batch/v1", kind: "Job", metadata, spec: { template, ...spec }, status } as unknown as Job;
}
interface Sketch {
  phase?: string;
  index?: number;
  failures?: number;
  endedAgo?: number;
  going?: boolean;
  tracked?: boolean;
  restarts?: number;
}
let next = 0;
function pod({ phase = "Running", index, failures, endedAgo = 0, going, tracked = true, restarts = 0 }: Sketch): Pod {
  const annotations = {
    ...(index !== undefined && { "batch.kubernetes.io/job-completion-index": String(index) }),
    ...(failures !== undefined && { "batch.kubernetes.io/job-index-failure-count": String(failures) }),
  };
  const finishedAt = new Date(NOW - endedAgo * 1000).toISOString();
  const ended = phase === "Failed" || phase === "Succeeded";
  return {
    metadata: {
      name: "p",
      uid: String(next++),
      annotations,
      ...(going && { deletionTimestamp: finishedAt }),
      ...(tracked && { finalizers: [TRACKING] }),
    },
    status: {
      phase,
      containerStatuses: [
        { name: "main", restartCount: restarts, state: ended ? { terminated: { exitCode: 1, finishedAt } } : {} },
      ],
    },
  } as unknown as Pod;
}
function look(owner: Job, pods: Pod[], before?: { failures: number; last: number }) {
  const fresh = freshPods(owner, pods, new Set());
  const count = tally(owner, pods, fresh);
  const plan = planJob(owner, pods, count, before, NOW);
  return { fresh, count, plan, verdict: verdictOf(owner, pods, count, NOW)?.reason };
}
const repeat = (count: number, sketch: Sketch) => Array.from({ length: count }, () => pod(sketch));

test("a Job has as many pods as run side by side, and no more than are left to do", () => {
  assert.equal(look(job({ parallelism: 3, completions: 5 }), []).plan.create.length, 3);
  const two = look(job({ parallelism: 3, completions: 5 }), [...repeat(4, { phase: "Succeeded" })]);
  assert.deepEqual([two.plan.create.length, two.count.succeeded], [1, 4]);
  assert.equal(look(job({ parallelism: 1 }), repeat(3, {})).plan.delete.length, 2);
  assert.equal(look(job({ parallelism: 2 }), [pod({ phase: "Succeeded" }), pod({})]).plan.create.length, 0);
  assert.equal(look(job({ parallelism: 2, suspend: true }), repeat(2, {})).plan.delete.length, 2);
});

test("pods that were counted before are not counted again", () => {
  const succeeded = pod({ phase: "Succeeded" });
  const counted = job(
    { completions: 3 },
    { succeeded: 1, uncountedTerminatedPods: { succeeded: [succeeded.metadata.uid] } },
  );
  assert.equal(look(counted, [succeeded, pod({ phase: "Succeeded", tracked: false })]).count.succeeded, 2);
  assert.equal(freshPods(job({}), [succeeded], new Set([succeeded.metadata.uid ?? ""])).succeeded.length, 0);
});

test("too many failures, too long a time or too many restarts end it", () => {
  assert.equal(look(job({ backoffLimit: 1 }), repeat(1, { phase: "Failed" })).verdict, undefined);
  assert.equal(look(job({ backoffLimit: 1 }), repeat(2, { phase: "Failed" })).verdict, "BackoffLimitExceeded");
  const late = job({ activeDeadlineSeconds: 5 }, { startTime: new Date(NOW - 5000).toISOString() });
  assert.equal(look(late, [pod({})]).verdict, "DeadlineExceeded");
  const again = job({ backoffLimit: 2, template: { spec: { restartPolicy: "OnFailure" } } });
  assert.equal(look(again, [pod({ restarts: 2 })]).verdict, "BackoffLimitExceeded");
  assert.equal(look(again, [pod({ restarts: 1 })]).verdict, undefined);
});

test("a pod that is going has failed, unless only failed ones are replaced", () => {
  assert.equal(look(job({}), [pod({ going: true })]).plan.create.length, 1);
  const waits = look(job({ podReplacementPolicy: "Failed" }), [pod({ going: true })]);
  assert.deepEqual([waits.plan.create.length, waits.count.failed, waits.count.terminating], [0, 0, 1]);
});

test("after a failure the next try waits, twice as long each time", () => {
  assert.equal(retryDelay({ failures: 1, last: NOW }, NOW), 10_000);
  assert.equal(retryDelay({ failures: 3, last: NOW }, NOW + 10_000), 30_000);
  assert.equal(retryDelay({ failures: 30, last: NOW }, NOW), 600_000);
  assert.equal(retryDelay({ failures: 0, last: NOW }, NOW), 0);
  const failed = [pod({ phase: "Failed", endedAgo: 4 }), pod({ phase: "Failed", endedAgo: 2 })];
  assert.deepEqual(setbacks(undefined, { succeeded: [], failed }), { failures: 2, last: NOW - 2000 });
  const succeeded = [pod({ phase: "Succeeded", endedAgo: 3 })];
  assert.deepEqual(setbacks({ failures: 5, last: 0 }, { succeeded, failed }), { failures: 1, last: NOW - 2000 });
  assert.equal(look(job({}), [], { failures: 1, last: NOW - 1000 }).plan.waitMs, 9000);
});

const indexed = { completionMode: "Indexed", completions: 4, parallelism: 4 };

test("each index has one pod until it has succeeded", () => {
  const done = look(job(indexed, { completedIndexes: "0" }), [pod({ index: 2 })]);
  assert.deepEqual(
    done.plan.create.map(({ index }) => index),
    [1, 3],
  );
  assert.equal(look(job(indexed), [pod({ index: 1 }), pod({ index: 1 })]).plan.delete.length, 1);
  assert.equal(look(job(indexed), [pod({ index: 7 })]).plan.delete.length, 1);
  const all = look(
    job(indexed),
    [0, 1, 2, 3].map((index) => pod({ index, phase: "Succeeded" })),
  );
  assert.equal(all.count.succeededIndexes.toString(), "0-3");
  assert.equal(isComplete(job(indexed), all.count), true);
});

test("with a limit for each index, one fails without the others", () => {
  const own = job({ ...indexed, completions: 2, backoffLimitPerIndex: 1 });
  const first = look(own, [pod({ index: 0, phase: "Failed", failures: 0, endedAgo: 60 })]);
  assert.deepEqual(first.plan.create, [
    { index: 0, failures: { counted: 1, ignored: 0 } },
    { index: 1, failures: { counted: 0, ignored: 0 } },
  ]);
  const over = look(own, [pod({ index: 0, phase: "Failed", failures: 1 }), pod({ index: 1, phase: "Succeeded" })]);
  assert.deepEqual([over.count.failedIndexes.toString(), over.verdict], ["0", "FailedIndexes"]);
  const soon = look(own, [pod({ index: 0, phase: "Failed", failures: 0 }), pod({ index: 1 })]);
  assert.equal(soon.plan.waitMs, 10_000);
  const most = job({ ...indexed, backoffLimitPerIndex: 0, maxFailedIndexes: 0 });
  assert.equal(look(most, [pod({ index: 0, phase: "Failed" })]).verdict, "MaxFailedIndexesExceeded");
});

test("a pod of an index knows it", () => {
  const made = forgeJobPod(job(indexed), 3, { counted: 1, ignored: 0 });
  assert.equal(made.metadata.generateName, "work-3-");
  assert.equal(made.spec?.hostname, "work-3");
  assert.equal(made.spec?.containers[0]?.env?.[0]?.name, "JOB_COMPLETION_INDEX");
  assert.deepEqual(made.metadata.finalizers, [TRACKING]);
});
