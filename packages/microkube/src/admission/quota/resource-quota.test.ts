import assert from "node:assert/strict";
import { beforeEach, describe, it } from "node:test";
import type { KubeObject } from "@fjord/base";
import type { ResourceQuota } from "@fjord/kube";
import { find } from "../../cluster-objects.ts";
import { TestCluster } from "../../test-cluster.ts";
import { quantityTexts } from "../amount.ts";
import { requestOf } from "../test-request.ts";
import { quotaEvaluator } from "./quota-evaluator.ts";
import { ResourceQuotaPlugin } from "./resource-quota.ts";

describe("quotas", () => {
  let cluster: TestCluster;
  let plugin: ResourceQuotaPlugin;
  beforeEach(() => {
    cluster = new TestCluster();
    plugin = new ResourceQuotaPlugin();
  });

  const pod = (name: string, resources: object = {}, spec: object = {}): KubeObject =>
    ({
      apiVersion: "v1",
      kind: "Pod",
      metadata: { name, namespace: "shop" },
      spec: { containers: [{ name: "c", image: "i", resources }], ...spec },
    }) as KubeObject;
  const quota = (hard: Record<string, string>, used: Record<string, string>, spec: object = {}, name = "q") =>
    cluster.put({
      apiVersion: "v1",
      kind: "ResourceQuota",
      metadata: { name, namespace: "shop" },
      spec: { hard, ...spec },
      status: { hard, used },
    } as KubeObject);
  const used = (name = "q") => find<ResourceQuota>(cluster, "ResourceQuota", "shop", name)?.status?.used;
  const create = async (object: KubeObject, given: object = {}) => {
    const request = requestOf(cluster, object, given);
    await plugin.validate(request);
    return request;
  };

  it("count what is let through, and refuse what is too much", async () => {
    quota(
      { pods: "2", "requests.cpu": "1", "limits.memory": "1Gi" },
      { pods: "0", "requests.cpu": "0", "limits.memory": "0" },
    );
    const resources = { requests: { cpu: "600m", memory: "1Mi" }, limits: { memory: "512Mi" } };
    await create(pod("a", resources));
    assert.deepEqual(used(), { pods: "1", "requests.cpu": "600m", "limits.memory": "512Mi" });
    await assert.rejects(create(pod("b", resources)), {
      code: 403,
      message:
        'pods "b" is forbidden: exceeded quota: q, requested: requests.cpu=600m, used: requests.cpu=600m, limited: requests.cpu=1',
    });
    assert.deepEqual(used(), { pods: "1", "requests.cpu": "600m", "limits.memory": "512Mi" });
  });

  it("let exactly as many through as there is room for, however many come at once", async () => {
    quota({ pods: "10" }, { pods: "3" });
    const results = await Promise.allSettled(Array.from({ length: 50 }, (_, index) => create(pod(`p${index}`))));
    assert.equal(results.filter(({ status }) => status === "fulfilled").length, 7);
    assert.deepEqual(used(), { pods: "10" });
  });

  it("get back what was taken for a write that did not come about", async () => {
    quota({ pods: "1" }, { pods: "0" });
    const request = await create(pod("a"));
    assert.deepEqual(used(), { pods: "1" });
    plugin.settle(request, false);
    await new Promise((resolve) => setImmediate(resolve));
    assert.deepEqual(used(), { pods: "0" });
    plugin.settle(await create(pod("b")), true);
    await new Promise((resolve) => setImmediate(resolve));
    assert.deepEqual(used(), { pods: "1" });
  });

  it("are counted again when a controller writes what it has seen so far", async () => {
    quota({ pods: "10" }, { pods: "0" });
    cluster.put(pod("there"));
    const request = await create(pod("coming"));
    const written = structuredClone(find<ResourceQuota>(cluster, "ResourceQuota", "shop", "q")) as ResourceQuota;
    written.status = { hard: { pods: "10" }, used: { pods: "0" } };
    const by = (user: string) => {
      const copy = structuredClone(written);
      plugin.mutate(requestOf(cluster, copy, { old: written, subresource: "status", caller: { user, groups: [] } }));
      return copy.status?.used;
    };
    assert.deepEqual(by("system:kube-controller-manager"), { pods: "2" });
    assert.deepEqual(by("jane"), { pods: "0" });
    plugin.settle(request, true);
    cluster.put(pod("coming"));
    assert.deepEqual(by("system:kube-controller-manager"), { pods: "2" });
  });

  it("are not touched by a dry run, but say no to it", async () => {
    quota({ pods: "1" }, { pods: "0" });
    await create(pod("a"), { dryRun: true });
    assert.deepEqual(used(), { pods: "0" });
    quota({ pods: "1" }, { pods: "1" });
    await assert.rejects(create(pod("a"), { dryRun: true }), /exceeded quota/);
  });

  it("of what containers ask for need them to say how much", async () => {
    quota({ "limits.cpu": "1", memory: "1Gi" }, { "limits.cpu": "0", memory: "0" });
    await assert.rejects(create(pod("a")), {
      message: 'pods "a" is forbidden: failed quota: q: must specify limits.cpu for: c; memory for: c',
    });
  });

  it("whose usage is not known yet let nothing through", async () => {
    quota({ pods: "5" }, {});
    await assert.rejects(create(pod("a")), {
      message: 'pods "a" is forbidden: status unknown for quota: q, resources: pods',
    });
  });

  it("are for some pods only, by scope", async () => {
    const scopes = (...names: string[]) => ({ scopes: names });
    quota({ pods: "0" }, { pods: "0" }, scopes("BestEffort"));
    await assert.rejects(create(pod("a")), /exceeded quota/);
    await create(pod("a", { requests: { cpu: "1" } }));
    quota({ pods: "0" }, { pods: "0" }, scopes("Terminating"));
    await create(pod("a"));
    await assert.rejects(create(pod("a", {}, { activeDeadlineSeconds: 5 })), /exceeded quota/);
    const matchExpressions = [{ scopeName: "PriorityClass", operator: "In", values: ["high"] }];
    quota({ pods: "0" }, { pods: "0" }, { scopeSelector: { matchExpressions } });
    await create(pod("a", {}, { priorityClassName: "low" }));
    await assert.rejects(create(pod("a", {}, { priorityClassName: "high" })), /exceeded quota/);
  });

  it("that refuse cost the others nothing", async () => {
    quota({ pods: "5" }, { pods: "0" }, {}, "a");
    quota({ "count/pods": "0" }, { "count/pods": "0" }, {}, "b");
    await assert.rejects(
      create(pod("p")),
      /exceeded quota: b, requested: count\/pods=1, used: count\/pods=0, limited: count\/pods=0/,
    );
    assert.deepEqual(used("a"), { pods: "0" });
  });

  it("count things of every kind", async () => {
    quota({ "count/deployments.apps": "1", configmaps: "1" }, { "count/deployments.apps": "0", configmaps: "0" });
    const object = (apiVersion: string, kind: string): KubeObject => ({
      apiVersion,
      kind,
      metadata: { name: "x", namespace: "shop" },
    });
    await create(object("apps/v1", "Deployment"));
    await create(object("v1", "ConfigMap"));
    assert.deepEqual(used(), { "count/deployments.apps": "1", configmaps: "1" });
    await assert.rejects(create(object("apps/v1", "Deployment")), /exceeded quota/);
    await create(object("v1", "Event"));
    await create(object("v1", "ConfigMap"), { old: object("v1", "ConfigMap") });
  });

  it("of services count ports and balancers, and only what an update adds", async () => {
    const hard = { "services.nodeports": "3", "services.loadbalancers": "1", services: "2" };
    quota(hard, { "services.nodeports": "0", "services.loadbalancers": "0", services: "0" });
    const service = (type: string, ports: number): KubeObject =>
      ({
        apiVersion: "v1",
        kind: "Service",
        metadata: { name: "s", namespace: "shop", resourceVersion: "1" },
        spec: { type, ports: Array.from({ length: ports }, (_, port) => ({ port })) },
      }) as KubeObject;
    await create(service("NodePort", 2));
    assert.deepEqual(used(), { "services.nodeports": "2", "services.loadbalancers": "0", services: "1" });
    await create(service("LoadBalancer", 3), { old: service("NodePort", 2) });
    assert.deepEqual(used(), { "services.nodeports": "3", "services.loadbalancers": "1", services: "1" });
    await create(service("ClusterIP", 3), { old: service("LoadBalancer", 3) });
    assert.deepEqual(used(), { "services.nodeports": "3", "services.loadbalancers": "1", services: "1" });
  });
});

describe("what is counted", () => {
  const usage = (type: { group: string; plural: string }, object: object) =>
    quantityTexts(quotaEvaluator(type)?.usage(object as KubeObject, 0) ?? new Map());

  it("of a claim is its storage, also by class", () => {
    const spec = { storageClassName: "fast", resources: { requests: { storage: "10Gi" } } };
    assert.deepEqual(usage({ group: "", plural: "persistentvolumeclaims" }, { metadata: {}, spec }), {
      "count/persistentvolumeclaims": "1",
      persistentvolumeclaims: "1",
      "fast.storageclass.storage.k8s.io/persistentvolumeclaims": "1",
      "requests.storage": "10Gi",
      "fast.storageclass.storage.k8s.io/requests.storage": "10Gi",
    });
  });

  it("of a pod is its peak, with sidecars, overhead and other resources", () => {
    const container = (name: string, cpu: string, more: object = {}) => ({
      name,
      resources: { requests: { cpu, "example.com/gpu": "1" }, limits: { cpu } },
      ...more,
    });
    const spec = {
      initContainers: [container("s", "100m", { restartPolicy: "Always" }), container("i", "2")],
      containers: [container("a", "500m"), container("b", "500m")],
      overhead: { cpu: "50m" },
    };
    assert.deepEqual(usage({ group: "", plural: "pods" }, { metadata: {}, spec }), {
      "count/pods": "1",
      pods: "1",
      cpu: "2150m",
      "requests.cpu": "2150m",
      "requests.example.com/gpu": "3",
      "limits.cpu": "2150m",
    });
  });

  it("of a pod that has ended is only that it is there", () => {
    const spec = { containers: [{ name: "c", resources: { requests: { cpu: "1" } } }] };
    assert.deepEqual(usage({ group: "", plural: "pods" }, { metadata: {}, spec, status: { phase: "Succeeded" } }), {
      "count/pods": "1",
    });
  });
});
