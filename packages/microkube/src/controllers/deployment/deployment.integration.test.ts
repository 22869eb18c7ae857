import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { after, before, describe, test } from "node:test";
import { promisify } from "node:util";
import { CoreEvent, Deployment, Pod, ReplicaSet } from "@fjord/kube";
import { findBinaries } from "@fjord/testbed";
import { kubernetesSkip } from "@fjord/testbed/testing";
import { replicaSetController } from "../replica-set/replica-set-controller.ts";
import { startTestCluster, type TestCluster } from "../test-cluster.ts";
import { deploymentController } from "./deployment-controller.ts";

const key = { name: "web", namespace: "default" };

function forge(name: string, replicas: number, spec: object = {}): Deployment {
  const labels = { app: name };
  return {
    apiVersion: "apps/v1",
    kind: "Deployment",
    metadata: { name, namespace: "default" },
    spec: {
      replicas,
      selector: { matchLabels: labels },
      template: { metadata: { labels }, spec: { containers: [{ name: "main", image: "image:1" }] } },
      ...spec,
    },
  };
}

describe("Deployments on a real API server", { skip: kubernetesSkip() }, () => {
  let cluster: TestCluster;
  before(async () => {
    cluster = await startTestCluster({ loops: [deploymentController, replicaSetController] });
  });
  after(() => cluster[Symbol.asyncDispose]());

  async function kubectl(...args: string[]): Promise<string> {
    const { binaries } = findBinaries({ env: process.env, sets: ["control-plane"] });
    const kubeconfig = `--kubeconfig=${cluster.kubeconfig}`;
    return (await promisify(execFile)(binaries.path("kubectl"), [kubeconfig, ...args])).stdout;
  }
  const get = (name = "web") => cluster.client.get(Deployment, { name, namespace: "default" });
  const replicaSetsOf = async (app: string) =>
    (await cluster.client.list(ReplicaSet, { namespace: "default", labelSelector: `app=${app}` })).items;

  test("it rolls out, and kubectl sees it roll, go back and keep its history", { timeout: 240_000 }, async () => {
    await cluster.client.create(Deployment, forge("web", 3));
    assert.match(await kubectl("rollout", "status", "deployment/web", "--timeout=60s"), /successfully rolled out/);
    const { status, metadata } = await get();
    assert.equal(metadata.annotations?.["deployment.kubernetes.io/revision"], "1");
    assert.deepEqual(status?.conditions?.map(({ type, status, reason }) => `${type}=${status} ${reason}`).sort(), [
      "Available=True MinimumReplicasAvailable",
      "Progressing=True NewReplicaSetAvailable",
    ]);
    await kubectl("set", "image", "deployment/web", "main=image:2");
    assert.match(await kubectl("rollout", "status", "deployment/web", "--timeout=60s"), /successfully rolled out/);
    await kubectl("rollout", "undo", "deployment/web");
    assert.match(await kubectl("rollout", "status", "deployment/web", "--timeout=60s"), /successfully rolled out/);
    const history = await kubectl("rollout", "history", "deployment/web");
    assert.deepEqual(history.match(/^\d+/gm), ["2", "3"]);
    const back = (await replicaSetsOf("web")).find(({ spec }) => spec?.replicas === 3);
    assert.equal(back?.metadata.annotations?.["deployment.kubernetes.io/revision-history"], "1");
    const events = await cluster.until("events", async () => {
      const { items } = await cluster.client.list(CoreEvent, { namespace: "default" });
      const own = items.filter(({ involvedObject }) => involvedObject.name === "web");
      return own.length >= 7 && own.map(({ message, source }) => `${source?.component} ${message}`);
    });
    assert.ok(events.some((text) => /^deployment-controller Scaled up replica set web-\w+ from 0 to 3$/.test(text)));
    assert.ok(events.some((text) => /^deployment-controller Scaled down replica set web-\w+ from 1 to 0$/.test(text)));
  });

  test("it scales, pauses and resumes", { timeout: 240_000 }, async () => {
    await cluster.client.scale(Deployment, key, 5);
    await cluster.until("five pods", async () => (await get()).status?.availableReplicas === 5);
    await kubectl("rollout", "pause", "deployment/web");
    await cluster.until("the pause", async () =>
      (await get()).status?.conditions?.some(({ reason }) => reason === "DeploymentPaused"),
    );
    const before = (await replicaSetsOf("web")).length;
    await kubectl("set", "image", "deployment/web", "main=image:3");
    await cluster.until("it to be looked at", async () => {
      const { metadata, status } = await get();
      return status?.observedGeneration === metadata.generation;
    });
    assert.equal((await replicaSetsOf("web")).length, before);
    await kubectl("rollout", "resume", "deployment/web");
    assert.match(await kubectl("rollout", "status", "deployment/web", "--timeout=60s"), /successfully rolled out/);
    assert.equal((await replicaSetsOf("web")).length, before + 1);
  });

  test("one that recreates has no old pod left when the new ones come", { timeout: 240_000 }, async () => {
    await cluster.client.create(Deployment, forge("once", 2, { strategy: { type: "Recreate" } }));
    await cluster.until("two pods", async () => (await get("once")).status?.availableReplicas === 2);
    const { items } = await cluster.client.list(Pod, { namespace: "default", labelSelector: "app=once" });
    const old = new Set(items.map(({ metadata }) => metadata.uid));
    const mixed = new AbortController();
    const watching = (async () => {
      const alive = new Map<string, boolean>();
      for await (const { type, object } of cluster.client.watch(Pod, {
        namespace: "default",
        labelSelector: "app=once",
        signal: mixed.signal,
      })) {
        if (type === "BOOKMARK") continue;
        const uid = object.metadata.uid ?? "";
        if (type === "DELETED") alive.delete(uid);
        else alive.set(uid, old.has(uid));
        if (new Set(alive.values()).size > 1) return "both at once";
      }
      return "never both";
    })().catch((error) => (mixed.signal.aborted ? "never both" : Promise.reject(error)));
    await kubectl("set", "image", "deployment/once", "main=image:2");
    await kubectl("rollout", "status", "deployment/once", "--timeout=60s");
    mixed.abort();
    assert.equal(await watching, "never both");
  });

  test("a rollout that does not get on is said to be late", { timeout: 240_000 }, async () => {
    cluster.playing = false;
    await cluster.client.create(Deployment, forge("late", 1, { progressDeadlineSeconds: 1 }));
    await cluster.until("the deadline", async () =>
      (await get("late")).status?.conditions?.some(({ reason }) => reason === "ProgressDeadlineExceeded"),
    );
    cluster.playing = true;
  });
});
