import assert from "node:assert/strict";
import { test } from "node:test";
import type { ReplicaSet } from "@fjord/kube";
import { timestamp } from "../workload/pod-state.ts";
import {
  condition,
  isComplete,
  pauseCondition,
  rolloutStatus,
  untilDeadline,
  withCondition,
} from "./deployment-status.ts";
import { forgeReplicaSet } from "./replica-set-forge.ts";
import { expired, findNew, newAnnotations, sameTemplate } from "./revision.ts";
import { deployment, replicaSet } from "./test-sets.ts";

const NOW = Date.UTC(2030, 0, 1);
const reasons = (status: { conditions?: { type: string; status: string; reason?: string }[] }) =>
  status.conditions?.map(({ type, status, reason }) => `${type}=${status} ${reason}`).sort();

test("a rollout gets on, comes to its end, or is too late", () => {
  const progressing = (ago: number) => ({
    conditions: [
      { ...condition("Progressing", "True", "NewReplicaSetCreated", ""), lastUpdateTime: timestamp(NOW - ago) },
    ],
  });
  const half = replicaSet("new", 3, 1, { available: 1 });
  assert.deepEqual(reasons(rolloutStatus(deployment(3, {}, progressing(0)), [half], half, NOW)), [
    "Available=False MinimumReplicasUnavailable",
    "Progressing=True ReplicaSetUpdated",
  ]);
  const whole = replicaSet("new", 3, 1);
  const done = rolloutStatus(deployment(3, {}, progressing(0)), [whole], whole, NOW);
  assert.deepEqual(reasons(done), [
    "Available=True MinimumReplicasAvailable",
    "Progressing=True NewReplicaSetAvailable",
  ]);
  assert.equal(isComplete(deployment(3), done), true);
  const stuck = deployment(
    3,
    {},
    { ...progressing(601_000), replicas: 3, updatedReplicas: 3, readyReplicas: 1, availableReplicas: 1 },
  );
  assert.deepEqual(reasons(rolloutStatus(stuck, [half], half, NOW)), [
    "Available=False MinimumReplicasUnavailable",
    "Progressing=False ProgressDeadlineExceeded",
  ]);
  assert.equal(untilDeadline(deployment(3), { ...stuck.status, ...progressing(100_000) }, NOW), 501_000);
  assert.equal(untilDeadline(deployment(3), done, NOW), undefined);
});

test("failures of its sets are its own, and go with them", () => {
  const failure = {
    type: "ReplicaFailure",
    status: "True",
    reason: "FailedCreate",
    message: "quota",
    lastTransitionTime: "x",
  };
  const failing: ReplicaSet = replicaSet("new", 3, 1, { available: 0 });
  failing.status = { replicas: 0, conditions: [failure] };
  const status = rolloutStatus(deployment(3), [failing], failing, NOW);
  assert.ok(reasons(status)?.includes("ReplicaFailure=True FailedCreate"));
  const healthy = replicaSet("new", 3, 1);
  assert.ok(
    !reasons(rolloutStatus(deployment(3, {}, status), [healthy], healthy, NOW))?.some((text) =>
      text.startsWith("Replica"),
    ),
  );
});

test("a pause is said, and a resumption, but not over a deadline that was missed", () => {
  assert.equal(pauseCondition(deployment(3, { paused: true }))?.reason, "DeploymentPaused");
  const paused = { conditions: [condition("Progressing", "Unknown", "DeploymentPaused", "")] };
  assert.equal(pauseCondition(deployment(3, { paused: true }, paused)), undefined);
  assert.equal(pauseCondition(deployment(3, {}, paused))?.reason, "DeploymentResumed");
  const late = { conditions: [condition("Progressing", "False", "ProgressDeadlineExceeded", "")] };
  assert.equal(pauseCondition(deployment(3, { paused: true }, late)), undefined);
});

test("a condition that says the same stays as it was", () => {
  const first = withCondition({}, condition("Available", "True", "A", "one"), NOW);
  assert.equal(withCondition(first, condition("Available", "True", "A", "two"), NOW + 5000), first);
  const other = withCondition(first, condition("Available", "True", "B", "two"), NOW + 5000).conditions?.[0];
  assert.deepEqual([other?.lastTransitionTime, other?.lastUpdateTime], [timestamp(NOW), timestamp(NOW + 5000)]);
});

test("the set of the present template is found whatever its hash says", () => {
  const template = { metadata: { labels: { app: "web", "pod-template-hash": "x" } }, spec: { containers: [] } };
  const owner = deployment(1, { template: { metadata: { labels: { app: "web" } }, spec: { containers: [] } } });
  const found = replicaSet("a", 1, 2, { template });
  assert.equal(findNew(owner, [replicaSet("b", 1, 3), replicaSet("c", 1, 1, { template }), found]), found);
  assert.equal(sameTemplate(template, { ...template, spec: { containers: [{ name: "x" }] } }), false);
});

test("a revision that comes back keeps its history", () => {
  const owner = deployment(1);
  owner.metadata.annotations = { team: "a", "kubectl.kubernetes.io/last-applied-configuration": "{}" };
  const first = newAnnotations(owner, undefined, 1n);
  assert.deepEqual(first, { team: "a", "deployment.kubernetes.io/revision": "1" });
  assert.deepEqual(newAnnotations(owner, first, 1n), first);
  const back = newAnnotations(owner, first, 3n);
  assert.equal(back["deployment.kubernetes.io/revision-history"], "1");
  assert.equal(newAnnotations(owner, back, 5n)["deployment.kubernetes.io/revision-history"], "1,3");
  const huge = { "deployment.kubernetes.io/revision": "3546343826724305832" };
  assert.equal(
    newAnnotations(owner, huge, 3546343826724305833n)["deployment.kubernetes.io/revision"],
    "3546343826724305833",
  );
});

test("of old sets without pods the oldest revisions go", () => {
  const old = [1, 2, 3].map((revision) => replicaSet(`r${revision}`, 0, 9 - revision, { revision }));
  const names = (limit: number) =>
    expired(deployment(1, { revisionHistoryLimit: limit }), old).map(({ metadata }) => metadata.name);
  assert.deepEqual(names(1), ["r1", "r2"]);
  assert.deepEqual(names(0), ["r1", "r2", "r3"]);
  assert.deepEqual(names(5), []);
  assert.deepEqual(expired(deployment(1, { revisionHistoryLimit: 0 }), [replicaSet("busy", 2, 1)]), []);
});

test("a set is named by its template, and another way after a collision", () => {
  const made = forgeReplicaSet(deployment(2), 4n, 2);
  const hash = made.metadata.labels?.["pod-template-hash"];
  assert.equal(made.metadata.name, `web-${hash}`);
  assert.equal(made.spec?.selector.matchLabels?.["pod-template-hash"], hash);
  assert.equal(made.metadata.annotations?.["deployment.kubernetes.io/max-replicas"], "3");
  assert.notEqual(forgeReplicaSet(deployment(2, {}, { collisionCount: 1 }), 4n, 2).metadata.name, made.metadata.name);
});
