import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { CONSUMER_LABEL } from "@fjord/api";
import { pictureOf } from "./picture.ts";
import * as t from "./test-world.ts";

describe("sites", () => {
  it("the own site has what its own nodes have, and a peer what contracts promise of it", () => {
    const { sites } = pictureOf(
      t.world({ nodes: [t.node("own-1"), t.node("own-2", { ready: false }), t.node("wave", { allocatable: {} })] }),
    );
    assert.deepEqual(sites.harbor?.capacity, { cpu: 8000, memory: 16 * 1024 ** 3, pods: 220 });
    assert.deepEqual([sites.harbor?.nodes, sites.harbor?.nodesReady], [2, 1]);
    assert.deepEqual(sites.wave?.capacity, { cpu: 4000, memory: 8 * 1024 ** 3, pods: 50 });
    assert.deepEqual(sites.wood?.capacity, {});
  });

  it("roles, tiers and versions are as the sites publish them", () => {
    const { sites, known } = pictureOf(t.world());
    assert.equal(known.self, "harbor");
    assert.deepEqual(
      [sites.harbor?.role, sites.harbor?.tier, sites.wave?.role, sites.wave?.tier],
      ["self", "cloud", "peer", "edge"],
    );
    assert.equal(sites.wave?.version, "0.1.0");
  });

  it("one that does not answer is lost, with why and since when", () => {
    const sites = [t.site("harbor", t.HARBOR, { role: "Self" }), t.site("wave", t.WAVE, { reachable: false })];
    const { wave } = pictureOf(t.world({ sites })).sites;
    assert.deepEqual(
      [wave?.health, wave?.reason, wave?.message, wave?.since, wave?.way],
      ["lost", "TimedOut", "it fell silent", "2030-01-01T00:00:00Z", "none"],
    );
  });

  it("one of which nothing was heard yet waits", () => {
    const sites = [{ ...t.site("wave", t.WAVE), status: undefined } as unknown as ReturnType<typeof t.site>];
    assert.equal(pictureOf(t.world({ sites })).sites.wave?.health, "waiting");
  });

  it("what is contracted is counted for both sides of each site", () => {
    const contracts = [
      t.contract("c-1", t.HARBOR, t.WAVE),
      t.contract("c-2", t.WAVE, t.HARBOR),
      t.contract("c-3", t.WOOD, t.HARBOR),
    ];
    const { harbor, wave, wood } = pictureOf(t.world({ contracts })).sites;
    assert.deepEqual([harbor?.contractedIn.cpu, harbor?.contractedOut.cpu], [4000, 8000]);
    assert.deepEqual([wave?.contractedIn.cpu, wave?.contractedOut.cpu], [4000, 4000]);
    assert.deepEqual([wood?.contractedIn.cpu, wood?.contractedOut.cpu], [undefined, 4000]);
  });

  it("contracts that are over count no more", () => {
    const contracts = [t.contract("c-1", t.HARBOR, t.WAVE, { phase: "Ended" })];
    assert.deepEqual(pictureOf(t.world({ contracts })).sites.harbor?.contractedIn, {});
  });

  it("pods and what they request are counted where they are bound, ended ones nowhere", () => {
    const pods = [
      t.webPod("a", { node: "own-1" }),
      t.webPod("b", { node: "wave" }),
      t.webPod("c", { node: "wave" }),
      t.webPod("d"),
      t.webPod("e", { node: "own-1", phase: "Succeeded" }),
    ];
    const { sites, nodes } = pictureOf(t.world({ pods }));
    assert.deepEqual([sites.harbor?.pods, sites.wave?.pods], [1, 2]);
    assert.deepEqual(sites.wave?.used, { pods: 2, cpu: 1000, memory: 2 * 1024 ** 3 });
    assert.deepEqual([nodes["own-1"]?.pods, nodes["own-1"]?.used.cpu], [1, 500]);
  });
});

describe("links", () => {
  it("a peering in service is an open link with its contract and node", () => {
    const link = pictureOf(t.world()).links["peering/wave"];
    assert.deepEqual(
      [link?.consumer, link?.provider, link?.state, link?.contract, link?.node, link?.nodeReady],
      ["harbor", "wave", "open", "c-1", "wave", true],
    );
    assert.deepEqual(link?.resources, { cpu: 4000, memory: 8 * 1024 ** 3, pods: 50 });
  });

  it("a contract that a consumer holds here is a link the other way", () => {
    const contracts = [t.contract("c-2", t.WAVE, t.HARBOR, { used: { cpu: "1500m" } })];
    const link = pictureOf(t.world({ contracts })).links["contract/c-2"];
    assert.deepEqual(
      [link?.consumer, link?.provider, link?.state, link?.used],
      ["wave", "harbor", "open", { cpu: 1500 }],
    );
  });

  it("a contract of a site that was forgotten is shown by its id", () => {
    const stranger = "zzzzzzzzzzzzzzzzzzzzzzzzzz";
    const link = pictureOf(t.world({ contracts: [t.contract("c-9", stranger, t.HARBOR)] })).links["contract/c-9"];
    assert.equal(link?.consumer, "zzzzzzzz");
  });

  it("what either owner wants shows", () => {
    const state = (more: object) =>
      pictureOf(t.world({ contracts: [t.contract("c-1", t.HARBOR, t.WAVE, more)] })).links["peering/wave"]?.state;
    assert.equal(state({ standing: "Cordoned" }), "cordoned");
    assert.equal(state({ peerStanding: "Cordoned" }), "cordoned");
    assert.equal(state({ standing: "Drained" }), "drained");
    assert.equal(state({ phase: "Ended" }), "ended");
  });

  it("a link to a site that does not answer is broken, whatever its objects still say", () => {
    const sites = [t.site("harbor", t.HARBOR, { role: "Self" }), t.site("wave", t.WAVE, { reachable: false })];
    assert.equal(pictureOf(t.world({ sites })).links["peering/wave"]?.state, "broken");
  });

  it("one that is not agreed yet says what it waits for", () => {
    const waiting = t.peering("wave", undefined, [
      ["Paired", "True", "Accepted"],
      ["Agreed", "False", "AmountRefused", "it would give 2 cpu"],
      ["Ready", "False", "NotAgreed"],
    ]);
    const link = pictureOf(t.world({ peerings: [waiting], contracts: [] })).links["peering/wave"];
    assert.deepEqual([link?.state, link?.reason, link?.message], ["waiting", "AmountRefused", "it would give 2 cpu"]);
  });
});

describe("workloads", () => {
  const shown = (more: Parameters<typeof t.world>[0]) => pictureOf(t.world(more)).workloads["shop/Deployment/web"];

  it("pods count for the Deployment behind their ReplicaSet, by site and path", () => {
    const pods = [
      t.webPod("a", { node: "own-1" }),
      t.webPod("b", { node: "wave" }),
      t.webPod("c", { node: "wave", ready: false }),
      t.webPod("d"),
    ];
    const web = shown({ pods, workloads: [t.deployment("web", 4)] });
    assert.deepEqual(web?.places, [
      { site: "wave", path: "shadow", pods: 2, ready: 1 },
      { site: "", path: "pending", pods: 1, ready: 0 },
      { site: "harbor", path: "native", pods: 1, ready: 1 },
    ]);
    assert.deepEqual([web?.desired, web?.pods, web?.ready, web?.health, web?.restarts], [4, 4, 2, "waiting", 8]);
    assert.equal(web?.offloaded, "Both");
    assert.equal(web?.image, "web:1");
  });

  it("a Deployment without pods is shown", () => {
    assert.deepEqual(shown({ workloads: [t.deployment("web", 0)] })?.health, "well");
    assert.deepEqual(shown({ workloads: [t.deployment("web", 2)] })?.health, "waiting");
  });

  it("pods whose maker is not known are shown by what their owner is called", () => {
    const pods = [
      t.pod("db-0", { node: "own-1", owner: { kind: "StatefulSet", name: "db" } }),
      t.pod("lone", { node: "own-1" }),
    ];
    assert.deepEqual(Object.keys(pictureOf(t.world({ pods })).workloads).sort(), [
      "shop/Pod/lone",
      "shop/StatefulSet/db",
    ]);
  });

  it("guests are grouped as their home groups them, and say whose they are", () => {
    const labels = { [CONSUMER_LABEL]: t.WAVE, "pod-template-hash": "7d4b9" };
    const pods = ["x", "y"].map((end) => t.pod(`web-7d4b9-${end}`, { namespace: "shop-wave", node: "own-1", labels }));
    const guest = pictureOf(t.world({ pods })).workloads["shop-wave/Guest/web"];
    assert.deepEqual([guest?.guestOf, guest?.pods], ["wave", 2]);
    assert.deepEqual(guest?.places, [{ site: "harbor", path: "guest", pods: 2, ready: 2 }]);
  });

  it("what the scheduler or the kubelet says is the problem", () => {
    const unschedulable = {
      conditions: [
        { type: "PodScheduled", status: "False", reason: "Unschedulable", message: "0/2 nodes are available" },
      ],
    };
    const web = shown({ pods: [t.webPod("a", { status: unschedulable })], workloads: [t.deployment("web", 1)] });
    assert.deepEqual([web?.health, web?.problem], ["faulty", "Unschedulable: 0/2 nodes are available"]);
    const crashing = {
      containerStatuses: [{ name: "main", restartCount: 9, state: { waiting: { reason: "CrashLoopBackOff" } } }],
    };
    const crashed = shown({
      pods: [t.webPod("a", { node: "own-1", ready: false, status: crashing })],
      workloads: [t.deployment("web", 1)],
    });
    assert.equal(crashed?.problem, "main: CrashLoopBackOff");
  });

  it("a container that is only being made is no problem", () => {
    const starting = {
      containerStatuses: [{ name: "main", restartCount: 0, state: { waiting: { reason: "ContainerCreating" } } }],
    };
    const web = shown({
      pods: [t.webPod("a", { node: "own-1", ready: false, status: starting })],
      workloads: [t.deployment("web", 1)],
    });
    assert.deepEqual([web?.health, web?.problem], ["waiting", ""]);
  });

  it("with pods at a site that does not answer it is lost, and those are not ready whatever they said last", () => {
    const sites = [t.site("harbor", t.HARBOR, { role: "Self" }), t.site("wave", t.WAVE, { reachable: false })];
    const web = shown({ sites, pods: [t.webPod("a", { node: "wave" })], workloads: [t.deployment("web", 1)] });
    assert.equal(web?.ready, 0);
    assert.deepEqual([web?.health, web?.problem], ["lost", "1 of its pods is at wave, which does not answer"]);
  });

  it("what was replaced elsewhere is well, though an old pod cannot be ended yet", () => {
    const world = {
      sites: [t.site("harbor", t.HARBOR, { role: "Self" }), t.site("wave", t.WAVE, { reachable: false })],
      pods: [t.webPod("a", { node: "wave", deleting: true }), t.webPod("b", { node: "own-1" })],
    };
    const web = shown({ ...world, workloads: [t.deployment("web", 1)] });
    assert.deepEqual([web?.health, web?.problem, web?.ready, web?.pods], ["well", "", 1, 2]);
    assert.equal(shown({ ...world, workloads: [t.deployment("web", 2)] })?.health, "lost");
  });

  it("a Job that has finished is well", () => {
    const job = {
      apiVersion: "batch/v1",
      kind: "Job",
      metadata: { name: "once", namespace: "shop" },
      status: { succeeded: 1 },
    };
    const pods = [t.pod("once-x", { node: "own-1", phase: "Succeeded", owner: { kind: "Job", name: "once" } })];
    const once = pictureOf(t.world({ pods, workloads: [job] })).workloads["shop/Job/once"];
    assert.deepEqual([once?.health, once?.pods, once?.desired], ["well", 0, 0]);
  });
});
