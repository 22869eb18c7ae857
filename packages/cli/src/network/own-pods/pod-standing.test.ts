import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { Pod } from "@fjord/kube";
import { podStanding } from "./pod-standing.ts";

const pod = (status: object, nodeName = "wave", metadata: object = {}): Pod =>
  ({ metadata, spec: { nodeName, containers: [{ name: "main", image: "busybox:1" }] }, status }) as unknown as Pod;
const container = (state: object, more: object = {}) => pod({ containerStatuses: [{ name: "main", state, ...more }] });
const condition = (type: string, status: string, reason = "", message = "") => ({ type, status, reason, message });

describe("how far a pod of a test is", () => {
  const cases: [string, Pod | undefined, RegExp, boolean][] = [
    ["gone", undefined, /it is gone/, true],
    ["being deleted", pod({}, "wave", { deletionTimestamp: "2030-01-01T00:00:00Z" }), /somebody deletes it/, true],
    [
      "without a node",
      pod({ conditions: [condition("PodScheduled", "False", "Unschedulable", "0/3 nodes are available")] }, ""),
      /it has no node: 0\/3 nodes are available/,
      false,
    ],
    [
      "waiting for its twin",
      pod({ conditions: [condition("fjord.dev/Offloaded", "False", "AwaitingTwin", "no usable twin: NameRefused")] }),
      /not taken there: AwaitingTwin: no usable twin: NameRefused/,
      false,
    ],
    [
      "beyond what its contract has",
      pod({ conditions: [condition("fjord.dev/Offloaded", "False", "AmountExceeded", "pods")] }),
      /AmountExceeded: pods/,
      false,
    ],
    [
      "refused",
      pod({ conditions: [condition("fjord.dev/Offloaded", "False", "RequestsMissing", "main states none")] }),
      /RequestsMissing: main states none/,
      true,
    ],
    [
      "without its image at first",
      container({ waiting: { reason: "ErrImagePull", message: "no such host" } }),
      /ErrImagePull: no such host/,
      false,
    ],
    ["without its image", container({ waiting: { reason: "ImagePullBackOff" } }), /ImagePullBackOff/, true],
    [
      "on a node that cannot run it",
      container({ waiting: { reason: "RuntimeUnsupported", message: "no" } }),
      /RuntimeUnsupported/,
      true,
    ],
    [
      "of an image without a server",
      container({ terminated: { exitCode: 66 } }),
      /busybox:1 has neither busybox/,
      true,
    ],
    [
      "of an image without a server, and about to try again",
      container({ waiting: { reason: "CrashLoopBackOff" } }, { lastState: { terminated: { exitCode: 66 } } }),
      /neither busybox/,
      true,
    ],
    [
      "one that ends",
      container({ terminated: { exitCode: 1, reason: "Error", message: "bind" } }),
      /ended with 1: Error: bind/,
      false,
    ],
    ["running", container({ running: {} }), /does not answer yet/, false],
    ["of which nothing is heard", pod({}), /nothing is heard/, false],
    ["over", pod({ phase: "Failed", reason: "Evicted", message: "disk" }), /Evicted: disk/, true],
  ];
  for (const [name, given, why, isHopeless] of cases)
    it(`is told of one ${name}`, () => {
      const standing = podStanding(given);
      assert.ok(!standing.isReady);
      assert.match(standing.why, why);
      assert.equal(standing.isHopeless, isHopeless);
    });

  it("is ready with an address, and not before", () => {
    const ready = { conditions: [condition("Ready", "True")] };
    assert.deepEqual(podStanding(pod({ ...ready, podIP: "10.42.0.7" })), { isReady: true });
    assert.equal(podStanding(pod(ready)).isReady, false);
  });
});
