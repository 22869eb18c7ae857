import assert from "node:assert/strict";
import { test } from "node:test";
import { explainPod } from "./explain-pod.ts";
import type { PodFacts } from "./pod-facts.ts";

const now = Date.parse("2030-01-01T01:00:00Z");
const ready = (status: string, reason = "ProviderReady", message = "the provider answers") => ({
  conditions: [{ type: "Ready", status, reason, message, lastTransitionTime: "2030-01-01T00:58:00Z" }],
});

function facts(change: {
  pod?: object;
  spec?: object;
  status?: object;
  node?: object;
  standing?: string;
  events?: object[];
  offloading?: object | null;
}): PodFacts {
  const given = {
    pod: {
      metadata: { name: "web", namespace: "shop" },
      spec: { nodeName: "wave", containers: [], ...change.spec },
      status: {
        phase: "Running",
        conditions: [{ type: "PodScheduled", status: "True", lastTransitionTime: "2030-01-01T00:59:00Z" }],
        ...change.status,
      },
    },
    places: {
      sites: [
        { metadata: { name: "harbour" }, spec: {}, status: { role: "Self", id: "a" } },
        { metadata: { name: "lively-wave" }, spec: { id: "b" }, status: { role: "Peer" } },
      ],
      virtualNodes: [
        {
          metadata: { name: "wave" },
          spec: { contract: "c-1" },
          status: { provider: "b", ...ready("True"), ...change.node },
        },
      ],
      contracts: [
        {
          metadata: { name: "c-1" },
          spec: {
            standing: change.standing ?? "Open",
            terms: { provider: "b", consumer: "a", resources: { cpu: "1" }, notAfter: "2030-01-02T00:00:00Z" },
          },
          status: { phase: "Active", side: "Consumer" },
        },
      ],
      peerings: [],
    },
    ...(change.offloading !== null && { offloading: change.offloading ?? { spec: { pods: "Both", sites: {} } } }),
    events: change.events ?? [],
    now,
  };
  return given as unknown as PodFacts;
}

test("a pod elsewhere: which site, which node, which contract", () => {
  const { site, node, because, advice } = explainPod(facts({}));
  assert.deepEqual([site, node, advice], ["lively-wave", "wave", []]);
  assert.deepEqual(because, [
    "It is Running at lively-wave: virtual node wave, which stands for that site, was chosen for it 60s ago.",
    "Namespace shop is offloaded: its pods may run here or at other sites, and the scheduler chose.",
    "Contract c-1 with lively-wave is Active: cpu 1, until 2030-01-02T00:00:00Z.",
  ]);
});

test("a site that does not answer, and one that does not take the pod, are told with what to do", () => {
  const away = explainPod(facts({ node: ready("Unknown", "ProviderUnreachable", "the provider has not answered") }));
  assert.match(
    away.because.join("\n"),
    /Node wave has not been ready for 2m: ProviderUnreachable: the provider has not answered\. What is told/,
  );
  assert.match(away.advice.join("\n"), /`fjord sites lively-wave` says whether it answers again/);
  const conditions = [
    { type: "fjord.dev/Offloaded", status: "False", reason: "AmountExceeded", message: "cpu 2 of 1" },
  ];
  const full = explainPod(facts({ status: { phase: "Pending", conditions } }));
  assert.match(full.because.join("\n"), /lively-wave has not taken it: AmountExceeded: cpu 2 of 1\./);
  assert.match(full.advice.join("\n"), /`fjord peer lively-wave --cpu=/);
});

test("a pod at home, of a namespace that may not leave", () => {
  const { because, site } = explainPod(facts({ spec: { nodeName: "node-1" }, offloading: null }));
  assert.equal(site, "harbour");
  assert.match(
    because.join("\n"),
    /It is Running here, at harbour: node node-1 was chosen for it 60s ago\.\nNamespace shop is not offloaded, so its pods run here only\./,
  );
});

test("a pod that waits: the scheduler's words, each site's obstacle, and what would help", () => {
  const message = "0/2 nodes are available: 1 Insufficient cpu.";
  const status = {
    phase: "Pending",
    conditions: [{ type: "PodScheduled", status: "False", reason: "Unschedulable", message }],
  };
  const waiting = (change: Parameters<typeof facts>[0]) =>
    explainPod(facts({ spec: { nodeName: undefined }, status, ...change }));
  const alone = waiting({ offloading: null });
  assert.match(alone.because.join("\n"), /the scheduler found no node for it\. In its words: 0\/2 nodes/);
  assert.match(alone.because.join("\n"), /lively-wave is no help: pods of this namespace may not run there\./);
  assert.deepEqual(alone.advice, ["`fjord offload shop` lets it run at other sites."]);
  assert.match(
    waiting({ standing: "Cordoned" }).because.join("\n"),
    /lively-wave is no help: its contract is cordoned\./,
  );
  assert.match(
    waiting({ node: ready("False", "ContractNotActive", "it ended") }).because.join("\n"),
    /node wave is not ready: ContractNotActive/,
  );
  assert.match(waiting({}).because.join("\n"), /lively-wave would do if its contract has room\. Contract c-1/);
  const gated = explainPod(facts({ spec: { nodeName: undefined, schedulingGates: [{ name: "example.com/wait" }] } }));
  assert.match(gated.because.join("\n"), /while it has the gates example\.com\/wait/);
});

test("containers that wait or fail, and warnings, each sort once", () => {
  const containerStatuses = [
    {
      name: "a",
      restartCount: 3,
      ready: false,
      state: { waiting: { reason: "CrashLoopBackOff", message: "back-off" } },
    },
    { name: "b", restartCount: 0, ready: false, state: { terminated: { exitCode: 2, reason: "Error" } } },
  ];
  const event = {
    type: "Warning",
    reason: "Unhealthy",
    message: "probe failed",
    lastTimestamp: "2030-01-01T00:59:30Z",
    metadata: {},
  };
  const { because } = explainPod(facts({ status: { containerStatuses }, events: [event, event] }));
  assert.ok(because.includes("Container a waits (3 restarts): CrashLoopBackOff: back-off."));
  assert.ok(because.includes("Container b ended with 2: Error."));
  assert.deepEqual(
    because.filter((each) => each.startsWith("Event")),
    ["Event 30s ago: Unhealthy: probe failed"],
  );
});
