import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { isDeepStrictEqual } from "node:util";
import {
  ConfigMap,
  DaemonSet,
  Deployment,
  EndpointSlice,
  isNotFound,
  Job,
  Namespace,
  Node,
  PersistentVolumeClaim,
  Pod,
  ReplicaSet,
  ResourceQuota,
  Service,
  StatefulSet,
  StorageClass,
} from "@fjord/kube";
import { kubernetesSkip } from "@fjord/testbed/testing";
import { controlLoops, LOCAL_PATH_PROVISIONER } from "./index.ts";
import { startTestCluster, type TestCluster } from "./test-cluster.ts";

const template = (app: string, spec: object = {}) => ({
  metadata: { labels: { app } },
  spec: { containers: [{ name: "main", image: "image:1" }], ...spec },
});
const meta = (name: string, namespace: string) => ({ name, namespace });

describe("all controllers on a real API server", { skip: kubernetesSkip(), timeout: 180_000 }, () => {
  let cluster: TestCluster;
  before(async () => {
    cluster = await startTestCluster({ loops: controlLoops({ rootCa: "PEM", podCidr: "10.9.0.0/16" }) });
  });
  after(() => cluster[Symbol.asyncDispose]());

  const gone = (get: Promise<unknown>) =>
    get.then(
      () => false,
      (error) => isNotFound(error) || Promise.reject(error),
    );
  const podsOf = async (namespace: string, app: string) =>
    (await cluster.client.list(Pod, { namespace, labelSelector: `app=${app}` })).items;

  async function makeNamespace(name: string): Promise<void> {
    await cluster.client.create(Namespace, { apiVersion: "v1", kind: "Namespace", metadata: { name } });
    await cluster.until("the namespace's own objects", async () => {
      const { items } = await cluster.client.list(ConfigMap, { namespace: name });
      return items.some(({ metadata }) => metadata.name === "kube-root-ca.crt");
    });
  }

  test("what belongs to a workload goes with it, before it, or stays", async () => {
    await makeNamespace("owners");
    const make = async (name: string) => {
      const spec = { replicas: 2, selector: { matchLabels: { app: name } }, template: template(name) };
      await cluster.client.create(Deployment, {
        apiVersion: "apps/v1",
        kind: "Deployment",
        metadata: meta(name, "owners"),
        spec,
      });
      await cluster.until("its pods", async () => (await podsOf("owners", name)).length === 2);
    };
    const remove = async (name: string, propagationPolicy: "Background" | "Foreground" | "Orphan") => {
      await cluster.client.delete(Deployment, meta(name, "owners"), { propagationPolicy });
      await cluster.until("its end", () => gone(cluster.client.get(Deployment, meta(name, "owners"))));
      return (await cluster.client.list(ReplicaSet, { namespace: "owners", labelSelector: `app=${name}` })).items;
    };
    await make("after");
    await remove("after", "Background");
    await cluster.until("its pods' end", async () => (await podsOf("owners", "after")).length === 0);
    await make("before");
    assert.deepEqual(await remove("before", "Foreground"), []);
    assert.deepEqual(await podsOf("owners", "before"), []);
    await make("orphans");
    const [left] = await remove("orphans", "Orphan");
    assert.equal(left?.metadata.ownerReferences, undefined);
    assert.equal((await podsOf("owners", "orphans")).length, 2);
  });

  test("an object whose owner never was is collected", async () => {
    const ownerReferences = [{ apiVersion: "v1", kind: "ConfigMap", name: "nobody", uid: "no-such-uid" }];
    const metadata = { ...meta("lost", "owners"), ownerReferences };
    await cluster.client.create(ConfigMap, { apiVersion: "v1", kind: "ConfigMap", metadata });
    await cluster.until("its end", () => gone(cluster.client.get(ConfigMap, meta("lost", "owners"))));
  });

  test("a service lists its pods as they come and go", async () => {
    await makeNamespace("served");
    const ports = [{ port: 80, targetPort: 8080 }];
    await cluster.client.create(Service, {
      apiVersion: "v1",
      kind: "Service",
      metadata: meta("web", "served"),
      spec: { selector: { app: "web" }, ports },
    });
    const spec = { replicas: 2, selector: { matchLabels: { app: "web" } }, template: template("web") };
    const metadata = meta("web", "served");
    await cluster.client.create(Deployment, { apiVersion: "apps/v1", kind: "Deployment", metadata, spec });
    const ready = async () => {
      const { items } = await cluster.client.list(EndpointSlice, { namespace: "served" });
      const endpoints = items.flatMap(({ endpoints }) => endpoints ?? []);
      return endpoints.filter(({ conditions }) => conditions?.ready).length;
    };
    await cluster.until("two endpoints", async () => (await ready()) === 2);
    await cluster.client.scale(Deployment, metadata, 1);
    await cluster.until("one endpoint", async () => (await ready()) === 1);
  });

  test("a set of state has its pods in order, and their claims", async () => {
    await makeNamespace("state");
    await cluster.client.create(StorageClass, {
      apiVersion: "storage.k8s.io/v1",
      kind: "StorageClass",
      metadata: { name: "folders" },
      provisioner: LOCAL_PATH_PROVISIONER,
      volumeBindingMode: "Immediate",
    });
    const claim = {
      metadata: { name: "data" },
      spec: {
        storageClassName: "folders",
        accessModes: ["ReadWriteOnce"],
        resources: { requests: { storage: "1Gi" } },
      },
    };
    const metadata = meta("db", "state");
    await cluster.client.create(StatefulSet, {
      apiVersion: "apps/v1",
      kind: "StatefulSet",
      metadata,
      spec: {
        replicas: 3,
        serviceName: "db",
        selector: { matchLabels: { app: "db" } },
        template: template("db"),
        volumeClaimTemplates: [claim],
      },
    } as StatefulSet);
    const status = async () => (await cluster.client.get(StatefulSet, metadata)).status;
    await cluster.until("three pods", async () => (await status())?.readyReplicas === 3);
    const created = (await podsOf("state", "db")).map(({ metadata }) => metadata.name).sort();
    assert.deepEqual(created, ["db-0", "db-1", "db-2"]);
    // The played kubelet does not wait for them.
    await cluster.until("three claims", async () => {
      const { items } = await cluster.client.list(PersistentVolumeClaim, { namespace: "state" });
      return items.length === 3 && items.every(({ status }) => status?.phase === "Bound");
    });
    const image = [{ name: "main", image: "image:2" }];
    await cluster.client.patch(StatefulSet, metadata, "merge", { spec: { template: { spec: { containers: image } } } });
    await cluster.until("the update", async () => {
      const { updatedReplicas, readyReplicas, currentRevision, updateRevision } = (await status()) ?? {};
      return updatedReplicas === 3 && readyReplicas === 3 && currentRevision === updateRevision;
    });
  });

  test("each node has its daemon, and none that it does not bear", async () => {
    await makeNamespace("daemons");
    const metadata = meta("agent", "daemons");
    await cluster.client.create(DaemonSet, {
      apiVersion: "apps/v1",
      kind: "DaemonSet",
      metadata,
      spec: { selector: { matchLabels: { app: "agent" } }, template: template("agent") },
    });
    const ready = async () => (await cluster.client.get(DaemonSet, metadata)).status?.numberReady;
    await cluster.until("two daemons", async () => (await ready()) === 2);
    const taints = [{ key: "private", effect: "NoExecute" }];
    await cluster.client.patch(Node, { name: "node-2" }, "merge", { spec: { taints } });
    await cluster.until("one daemon", async () => (await ready()) === 1);
    await cluster.client.patch(Node, { name: "node-2" }, "merge", { spec: { taints: [] } });
    await cluster.until("two daemons again", async () => (await ready()) === 2);
    const { items } = await cluster.client.list(Node);
    assert.deepEqual(items.map(({ spec }) => spec?.podCIDR).sort(), ["10.9.0.0/24", "10.9.1.0/24"]);
  });

  test("a Job counts its pods once, and ends", async () => {
    await makeNamespace("work");
    const metadata = meta("sums", "work");
    await cluster.client.create(Job, {
      apiVersion: "batch/v1",
      kind: "Job",
      metadata,
      spec: {
        completions: 4,
        parallelism: 2,
        completionMode: "Indexed",
        template: template("sums", { restartPolicy: "Never" }),
      },
    } as Job);
    const finished = new Set<string>();
    const job = await cluster.until("its end", async () => {
      for (const { metadata, status } of await podsOf("work", "sums")) {
        const name = metadata.name ?? "";
        if (status?.phase !== "Running" || finished.has(name)) continue;
        finished.add(name);
        const patch = { status: { phase: "Succeeded", conditions: [{ type: "Ready", status: "False" }] } };
        await cluster.client.patch(Pod, meta(name, "work"), "merge", patch, { subresource: "status" });
      }
      const found = await cluster.client.get(Job, metadata);
      return found.status?.conditions?.some(({ type }) => type === "Complete") && found;
    });
    assert.deepEqual([job.status?.succeeded, job.status?.completedIndexes, finished.size], [4, "0-3", 4]);
    const left = (await podsOf("work", "sums")).flatMap(({ metadata }) => metadata.finalizers ?? []);
    assert.deepEqual(left, []);
  });

  test("what a namespace uses is counted, and all of it goes with the namespace", async () => {
    const metadata = meta("limits", "work");
    const hard = { pods: "10", "count/configmaps": "5", "count/jobs.batch": "3" };
    await cluster.client.create(ResourceQuota, { apiVersion: "v1", kind: "ResourceQuota", metadata, spec: { hard } });
    const right = { pods: "0", "count/configmaps": "1", "count/jobs.batch": "1" };
    await cluster.until("the count", async () =>
      isDeepStrictEqual((await cluster.client.get(ResourceQuota, metadata)).status?.used, right),
    );
    const held = { ...meta("held", "work"), finalizers: ["example.com/hold"] };
    await cluster.client.create(ConfigMap, { apiVersion: "v1", kind: "ConfigMap", metadata: held });
    await cluster.client.delete(Namespace, { name: "work" });
    const condition = await cluster.until("a word on what remains", async () => {
      const { status } = await cluster.client.get(Namespace, { name: "work" });
      return status?.conditions?.find(
        ({ type, status }) => type === "NamespaceFinalizersRemaining" && status === "True",
      );
    });
    assert.match(condition.message ?? "", /example\.com\/hold in 1 resource instances/);
    await cluster.client.patch(ConfigMap, meta("held", "work"), "merge", { metadata: { finalizers: null } });
    await cluster.until("its end", () => gone(cluster.client.get(Namespace, { name: "work" })));
  });
});
