import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { describe, it } from "node:test";
import type { DaemonSet, Deployment, Lease, Pod } from "@fjord/kube";
import { agentLeads, agentsReady, notReady, onAllNodes } from "./parts-ready.ts";

describe("an installation is waited for", () => {
  const deployment = (status: Deployment["status"]) =>
    ({ metadata: { name: "fjord-agent", generation: 2 }, status }) as Deployment;
  const pod = (name: string, more: { spec?: object; deletionTimestamp?: string; ready?: string } = {}) =>
    ({
      metadata: { name, ...(more.deletionTimestamp && { deletionTimestamp: more.deletionTimestamp }) },
      spec: { nodeName: "n1", ...more.spec },
      status: { conditions: [{ type: "Ready", status: more.ready ?? "True" }] },
    }) as unknown as Pod;
  const held = (holderIdentity: string) => ({ spec: { holderIdentity } }) as Lease;

  it("until all agents are the new ones, and ready, and none of before is left", () => {
    const all = { observedGeneration: 2, replicas: 2, updatedReplicas: 2, readyReplicas: 2 };
    assert.deepEqual(agentsReady(deployment(all), 2), { done: true });
    assert.deepEqual(agentsReady(undefined, 2), { done: false, progress: "0 of 2 agents are ready" });
    assert.deepEqual(agentsReady(deployment({ ...all, observedGeneration: 1 }), 2).done, false);
    assert.deepEqual(agentsReady(deployment({ ...all, readyReplicas: 1 }), 2), {
      done: false,
      progress: "1 of 2 agents are ready",
    });
    assert.deepEqual(agentsReady(deployment({ ...all, replicas: 3 }), 2), {
      done: false,
      progress: "the agent of before has not ended yet",
    });
    const refused = { type: "ReplicaFailure", status: "False", message: "quota" } as never;
    assert.deepEqual(agentsReady(deployment({ ...all, readyReplicas: 0, conditions: [refused] }), 2), {
      done: false,
      progress: "quota",
    });
  });

  it("until one of the new agents leads, on a network of its own or its node's", () => {
    const agents = [pod("fjord-agent-7d-x"), pod("fjord-agent-8c-z", { spec: { hostNetwork: true } })];
    // As a candidate writes it: its host, its process, its run.
    const leader = `fjord-agent-7d-x_${randomUUID()}_5ec41c3f963e`;
    assert.deepEqual(agentLeads(held(leader), agents), { done: true });
    assert.deepEqual(agentLeads(held(`n1_${randomUUID()}_0f3a`), agents), { done: true });
    assert.deepEqual(agentLeads(held(`fjord-agent-old_${randomUUID()}_0f3a`), agents), {
      done: false,
      progress:
        "waiting for a new agent to lead: fjord-agent-old, which is none of the new agents, holds Lease fjord-agent",
    });
    const ends = [pod("fjord-agent-old", { deletionTimestamp: "2030-01-01T00:00:00Z" })];
    assert.equal(agentLeads(held(`fjord-agent-old_${randomUUID()}_0f3a`), ends).done, false, "it is ending");
    assert.match(JSON.stringify(agentLeads(undefined, agents)), /nobody holds Lease fjord-agent/);
    assert.equal(agentLeads(held(""), agents).done, false);
  });

  it("until every node has the gateway that was asked for", () => {
    const status = { observedGeneration: 1, desiredNumberScheduled: 2, updatedNumberScheduled: 2, numberReady: 2 };
    const gateways = (change: object) =>
      ({ metadata: { name: "fjord-gateway", generation: 1 }, status: { ...status, ...change } }) as DaemonSet;
    assert.deepEqual(onAllNodes(gateways({})), { done: true });
    assert.deepEqual(onAllNodes(gateways({ desiredNumberScheduled: 0 })), { done: true });
    assert.equal(onAllNodes(gateways({ observedGeneration: 0 })).done, false);
    assert.equal(onAllNodes(undefined).done, false);
    assert.deepEqual(onAllNodes(gateways({ numberReady: 1, updatedNumberScheduled: 1 })), {
      done: false,
      progress: "fjord-gateway: ready on 1 of 2 nodes, the new one is on 1",
    });
  });

  it("and whoever holds it up is named", () => {
    const slow = pod("fjord-gateway-b", { ready: "False" });
    assert.equal(notReady([pod("fjord-gateway-a"), slow]), "pod fjord-gateway-b on node n1 is not ready");
    assert.equal(notReady([pod("fjord-gateway-a")]), undefined);
    assert.equal(notReady([pod("x", { ready: "False", deletionTimestamp: "2030-01-01T00:00:00Z" })]), undefined);
  });
});
