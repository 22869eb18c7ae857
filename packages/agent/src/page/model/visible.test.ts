import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { pictureOf } from "./picture.ts";
import * as t from "./test-world.ts";
import { type Rights, snapshotFor } from "./visible.ts";

const VIEWER = { user: "ann", actions: false, demo: false };
const ALL: Rights = { sites: true, peerings: true, contracts: true, nodes: true, pods: () => true, events: () => true };
const NONE: Rights = {
  sites: false,
  peerings: false,
  contracts: false,
  nodes: false,
  pods: () => false,
  events: () => false,
};

const picture = pictureOf(
  t.world({
    contracts: [t.contract("c-1", t.HARBOR, t.WAVE), t.contract("c-2", t.WAVE, t.HARBOR)],
    workloads: [t.deployment("web", 2), t.deployment("vault", 1, "secret")],
    pods: [
      t.webPod("a", { node: "own-1" }),
      t.webPod("b", { node: "wave" }),
      t.pod("vault-0", { namespace: "secret", node: "own-1" }),
    ],
    events: [
      t.event("Site", "wave", { reason: "Paired", at: "2030-01-01T00:00:03Z" }),
      t.event("Pod", "web-7d4b9-a", { namespace: "shop", reason: "Started", at: "2030-01-01T00:00:02Z" }),
      t.event("Pod", "vault-0", { namespace: "secret", reason: "Started" }),
      t.event("Peering", "wave", { reason: "Agreed", at: "2030-01-01T00:00:05Z", type: "Warning", count: 3 }),
    ],
  }),
);

describe("what a viewer sees", () => {
  it("everything, with every right, and no pod that is not looked at", () => {
    const seen = snapshotFor(picture, VIEWER, ALL, {});
    assert.deepEqual(Object.keys(seen.sites), ["harbor", "wave", "wood"]);
    assert.equal(Object.keys(seen.workloads).length, 3);
    assert.deepEqual(seen.pods, {});
    assert.deepEqual(seen.viewer, { ...VIEWER, hidden: [] });
  });

  it("nothing, without any", () => {
    const seen = snapshotFor(picture, VIEWER, NONE, { workload: "shop/Deployment/web" });
    for (const part of ["sites", "links", "nodes", "workloads", "pods", "notices"] as const)
      assert.deepEqual(seen[part], {}, part);
    assert.equal(seen.self, "");
    assert.deepEqual(seen.viewer.hidden, ["sites", "peerings", "contracts", "nodes", "pods of some namespaces"]);
  });

  it("only workloads, pods and events of the namespaces that are theirs, and no sums over others", () => {
    const mine = (namespace: string) => namespace === "shop";
    const rights = { ...ALL, pods: mine, events: mine };
    const seen = snapshotFor(picture, VIEWER, rights, {});
    assert.deepEqual(Object.keys(seen.workloads), ["shop/Deployment/web"]);
    assert.deepEqual([seen.sites.harbor?.used, seen.sites.harbor?.pods, seen.nodes["own-1"]?.used], [{}, 0, {}]);
    assert.deepEqual(snapshotFor(picture, VIEWER, rights, { workload: "secret/Pod/vault-0" }).pods, {});
    assert.deepEqual(snapshotFor(picture, VIEWER, rights, { workload: "secret/Pod/vault-0" }).notices, {});
  });

  it("peerings and contracts each by their own right", () => {
    assert.deepEqual(Object.keys(snapshotFor(picture, VIEWER, { ...ALL, contracts: false }, {}).links), [
      "peering/wave",
    ]);
    assert.deepEqual(Object.keys(snapshotFor(picture, VIEWER, { ...ALL, peerings: false }, {}).links), [
      "contract/c-2",
    ]);
    assert.deepEqual(snapshotFor(picture, VIEWER, { ...ALL, contracts: false }, {}).sites.harbor?.contractedIn, {});
  });

  it("the pods of the workload that is looked at, each with why it is there", () => {
    const { pods } = snapshotFor(picture, VIEWER, ALL, { workload: "shop/Deployment/web" });
    assert.deepEqual(Object.keys(pods), ["shop/web-7d4b9-a", "shop/web-7d4b9-b"]);
    assert.equal(
      pods["shop/web-7d4b9-a"]?.placement,
      "The scheduler chose this site's own node own-1; its namespace is offloaded, and lets the scheduler choose among all nodes.",
    );
    assert.match(pods["shop/web-7d4b9-b"]?.placement ?? "", /virtual node wave: it runs at wave under contract c-1/);
    assert.deepEqual(pods["shop/web-7d4b9-b"]?.containers, [
      { name: "main", image: "web:1", ready: true, restarts: 2, state: "running" },
    ]);
  });

  it("events of the continuum, newest first; of a site or a workload where one is looked at", () => {
    const reasons = (focus: object) =>
      Object.values(snapshotFor(picture, VIEWER, ALL, focus).notices).map(({ reason, kind }) => `${kind} ${reason}`);
    assert.deepEqual(reasons({}), ["Peering Agreed", "Site Paired"]);
    assert.deepEqual(reasons({ site: "wave" }), ["Peering Agreed", "Site Paired"]);
    assert.deepEqual(reasons({ site: "wood" }), []);
    assert.deepEqual(reasons({ workload: "shop/Deployment/web" }), ["Pod Started"]);
    const [newest] = Object.values(snapshotFor(picture, VIEWER, ALL, {}).notices);
    assert.deepEqual([newest?.warning, newest?.count], [true, 3]);
  });

  it("no more than five hundred pods, and a hundred events", () => {
    const pods = Array.from({ length: 700 }, (_, i) => t.webPod(`p${i}`, { node: "own-1" }));
    const events = Array.from({ length: 300 }, (_, i) => t.event("Site", `s${i}`));
    const seen = snapshotFor(pictureOf(t.world({ pods, events })), VIEWER, ALL, { workload: "shop/Deployment/web" });
    assert.equal(Object.keys(seen.pods).length, 500);
    assert.equal(seen.workloads["shop/Deployment/web"]?.pods, 700);
    assert.equal(Object.keys(snapshotFor(pictureOf(t.world({ events })), VIEWER, ALL, {}).notices).length, 100);
  });
});

describe("why a pod is where it is", () => {
  const placement = (world: Parameters<typeof t.world>[0], workload = "shop/Deployment/web") =>
    Object.values(snapshotFor(pictureOf(t.world(world)), VIEWER, ALL, { workload }).pods)[0]?.placement ?? "";

  it("is told for a namespace that is not offloaded", () => {
    assert.match(
      placement({ pods: [t.webPod("a", { node: "own-1" })], offloadings: [] }),
      /is not offloaded, so it runs at home/,
    );
  });

  it("is told while it is nowhere", () => {
    assert.match(placement({ pods: [t.webPod("a")] }), /^Waits for the scheduler/);
    const status = {
      conditions: [{ type: "PodScheduled", status: "False", reason: "Unschedulable", message: "0/2 nodes" }],
    };
    assert.equal(placement({ pods: [t.webPod("a", { status })] }), "Waits: Unschedulable: 0/2 nodes");
  });

  it("says what will become of it where its site does not answer", () => {
    const sites = [t.site("harbor", t.HARBOR, { role: "Self" }), t.site("wave", t.WAVE, { reachable: false })];
    const pods = [t.webPod("a", { node: "wave" })];
    assert.match(placement({ sites, pods }), /does not answer now: the pod is evicted after 5m/);
    const kept = [t.offloading("shop", "Both", { action: "Keep" })];
    assert.match(placement({ sites, pods, offloadings: kept }), /the pod is kept until it is back/);
  });
});
