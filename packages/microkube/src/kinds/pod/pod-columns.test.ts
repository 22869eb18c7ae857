import assert from "node:assert/strict";
import { test } from "node:test";
import { summarize } from "./pod-columns.ts";
import { pullPolicyOf } from "./pod-defaults.ts";
import type { Pod } from "./pod-update.ts";

type Status = NonNullable<Pod["status"]>;
const pod = (status: Status, rest: Partial<Pod> = {}): Pod => ({
  apiVersion: "v1",
  kind: "Pod",
  metadata: { name: "p" },
  spec: { containers: [{ name: "a" }, { name: "b" }] },
  status,
  ...rest,
});
const running = { running: { startedAt: "2020-01-01T00:00:00Z" } };
const ended = (exitCode: number, reason?: string) => ({ terminated: { exitCode, ...(reason && { reason }) } });

test("a pod's state in a word is kubectl's", () => {
  const cases: [about: string, pod: Pod, ready: string, reason: string][] = [
    ["new", pod({ phase: "Pending" }), "0/2", "Pending"],
    [
      "running",
      pod({
        phase: "Running",
        containerStatuses: [
          { name: "a", ready: true, state: running },
          { name: "b", ready: false, state: running },
        ],
      }),
      "1/2",
      "Running",
    ],
    [
      "waiting",
      pod({ phase: "Pending", containerStatuses: [{ name: "a", state: { waiting: { reason: "ImagePullBackOff" } } }] }),
      "0/2",
      "ImagePullBackOff",
    ],
    ["crashed", pod({ phase: "Running", containerStatuses: [{ name: "a", state: ended(3) }] }), "0/2", "ExitCode:3"],
    [
      "partly done",
      pod({
        phase: "Running",
        containerStatuses: [
          { name: "a", state: ended(0, "Completed") },
          { name: "b", ready: true, state: running },
        ],
      }),
      "1/2",
      "NotReady",
    ],
    [
      "initializing",
      pod(
        {
          phase: "Pending",
          initContainerStatuses: [
            { name: "i", state: ended(0) },
            { name: "j", state: running },
          ],
        },
        { spec: { containers: [{ name: "a" }], initContainers: [{ name: "i" }, { name: "j" }] } },
      ),
      "0/1",
      "Init:1/2",
    ],
    [
      "init failed",
      pod(
        { phase: "Pending", initContainerStatuses: [{ name: "i", state: ended(1, "Error") }] },
        { spec: { containers: [{ name: "a" }], initContainers: [{ name: "i" }] } },
      ),
      "0/1",
      "Init:Error",
    ],
    [
      "with a sidecar",
      pod(
        {
          phase: "Running",
          initContainerStatuses: [{ name: "s", started: true, ready: true, state: running }],
          containerStatuses: [{ name: "a", ready: true, state: running }],
        },
        { spec: { containers: [{ name: "a" }], initContainers: [{ name: "s", restartPolicy: "Always" }] } },
      ),
      "2/2",
      "Running",
    ],
    ["evicted", pod({ phase: "Failed", reason: "Evicted" }), "0/2", "Evicted"],
    [
      "going",
      pod({ phase: "Running" }, { metadata: { name: "p", deletionTimestamp: "2020-01-01T00:00:00Z" } }),
      "0/2",
      "Terminating",
    ],
    [
      "gated",
      pod({ phase: "Pending", conditions: [{ type: "PodScheduled", status: "False", reason: "SchedulingGated" }] }),
      "0/2",
      "SchedulingGated",
    ],
  ];
  for (const [about, one, ready, reason] of cases) {
    const summary = summarize(one);
    assert.deepEqual([summary.ready, summary.reason], [ready, reason], about);
  }
});

test("restarts are counted, with the last one", () => {
  const lastState = { terminated: { exitCode: 1, finishedAt: "2020-01-01T00:00:00Z" } };
  const { restarts, lastRestart } = summarize(
    pod({ phase: "Running", containerStatuses: [{ name: "a", restartCount: 3, lastState, state: running }] }),
  );
  assert.deepEqual([restarts, lastRestart], [3, "2020-01-01T00:00:00Z"]);
});

test("images that may change are pulled each time", () => {
  const policies: [string, string][] = [
    ["nginx", "Always"],
    ["nginx:latest", "Always"],
    ["nginx:1", "IfNotPresent"],
    ["host:5000/nginx", "Always"],
    ["host:5000/nginx:1", "IfNotPresent"],
    ["nginx@sha256:abc", "IfNotPresent"],
  ];
  for (const [image, policy] of policies) assert.equal(pullPolicyOf(image), policy, image);
});
