import assert from "node:assert/strict";
import { beforeEach, describe, it } from "node:test";
import type { KubeObject } from "@fjord/base";
import type { Namespace, Node, PersistentVolumeClaim, Pod } from "@fjord/kube";
import { TestCluster } from "../test-cluster.ts";
import { defaultIngressClass, defaultStorageClass } from "./default-class.ts";
import { limitRanger } from "./limit-ranger.ts";
import { namespaceLifecycle } from "./namespace-lifecycle.ts";
import { defaultTolerationSeconds, podTopologyLabels, taintNodesByCondition } from "./pod-defaults.ts";
import { priority } from "./priority.ts";
import { mergedTolerations, runtimeClass } from "./runtime-class.ts";
import { serviceAccount } from "./service-account.ts";
import { persistentVolumeClaimResize, storageObjectInUseProtection } from "./storage-protection.ts";
import { admit, requestOf } from "./test-request.ts";

let cluster: TestCluster;

const pod = (spec: object = {}, metadata: object = {}): Pod =>
  ({
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name: "p", namespace: "shop", ...metadata },
    spec: { containers: [{ name: "c", image: "i" }], ...spec },
  }) as Pod;
const object = (apiVersion: string, kind: string, name: string, more: object = {}): KubeObject => ({
  apiVersion,
  kind,
  metadata: { name },
  ...more,
});
const namespace = (phase = "Active") => object("v1", "Namespace", "shop", { status: { phase } }) as Namespace;
const account = (more: object = {}, name = "default") => ({
  apiVersion: "v1",
  kind: "ServiceAccount",
  metadata: { name, namespace: "shop" },
  ...more,
});

beforeEach(() => {
  cluster = new TestCluster();
});

describe("the life of namespaces", () => {
  it("begins before anything is made in them", async () => {
    await assert.rejects(admit(namespaceLifecycle, cluster, pod()), {
      code: 404,
      message: 'namespaces "shop" not found',
    });
    cluster.put(namespace());
    await admit(namespaceLifecycle, cluster, pod());
    await admit(namespaceLifecycle, cluster, object("v1", "Node", "n"));
  });

  it("ends with nothing new in them; what is there may change", async () => {
    cluster.put(namespace("Terminating"));
    await assert.rejects(admit(namespaceLifecycle, cluster, pod()), {
      code: 403,
      message: 'pods "p" is forbidden: unable to create new content in namespace shop because it is being terminated',
      details: {
        name: "p",
        kind: "pods",
        causes: [
          {
            reason: "NamespaceTerminating",
            message: "namespace shop is being terminated",
            field: "metadata.namespace",
          },
        ],
      },
    });
    await admit(namespaceLifecycle, cluster, pod(), { old: pod() });
  });

  it("of some does not end", async () => {
    const request = (name: string) => requestOf(cluster, undefined, { old: object("v1", "Namespace", name), name });
    assert.throws(() => namespaceLifecycle.mutate?.(request("kube-system")), {
      message: 'namespaces "kube-system" is forbidden: this namespace may not be deleted',
    });
    namespaceLifecycle.mutate?.(request("shop"));
  });
});

describe("service accounts", () => {
  it("are mounted into pods", async () => {
    cluster.put(account({ imagePullSecrets: [{ name: "pull" }] }));
    const { spec } = await admit(serviceAccount, cluster, pod({ initContainers: [{ name: "i", image: "i" }] }));
    assert.equal(spec?.serviceAccountName, "default");
    assert.deepEqual(spec?.imagePullSecrets, [{ name: "pull" }]);
    const [volume] = spec?.volumes ?? [];
    assert.match(volume?.name ?? "", /^kube-api-access-[bcdfghjklmnpqrstvwxz2456789]{5}$/);
    assert.deepEqual(volume?.projected, {
      defaultMode: 420,
      sources: [
        { serviceAccountToken: { expirationSeconds: 3607, path: "token" } },
        { configMap: { name: "kube-root-ca.crt", items: [{ key: "ca.crt", path: "ca.crt" }] } },
        {
          downwardAPI: {
            items: [{ path: "namespace", fieldRef: { apiVersion: "v1", fieldPath: "metadata.namespace" } }],
          },
        },
      ],
    });
    const mount = {
      name: volume?.name,
      readOnly: true,
      mountPath: "/var/run/secrets/kubernetes.io/serviceaccount",
    };
    assert.deepEqual(spec?.containers[0]?.volumeMounts, [mount]);
    assert.deepEqual(spec?.initContainers?.[0]?.volumeMounts, [mount]);
  });

  it("are not mounted where pod or account say so, or where something is mounted already", async () => {
    cluster.put(account({ automountServiceAccountToken: false }));
    assert.equal((await admit(serviceAccount, cluster, pod())).spec?.volumes, undefined);
    assert.ok((await admit(serviceAccount, cluster, pod({ automountServiceAccountToken: true }))).spec?.volumes);
    const volumeMounts = [{ name: "x", mountPath: "/var/run/secrets/kubernetes.io/serviceaccount" }];
    const own = pod({ automountServiceAccountToken: true, containers: [{ name: "c", image: "i", volumeMounts }] });
    assert.equal((await admit(serviceAccount, cluster, own)).spec?.volumes, undefined);
  });

  it("have to be there; for the default one of a new namespace there is a moment's time", async () => {
    await assert.rejects(admit(serviceAccount, cluster, pod({ serviceAccountName: "x" })), {
      message: 'pods "p" is forbidden: error looking up service account shop/x: serviceaccount "x" not found',
    });
    const admitted = admit(serviceAccount, cluster, pod());
    await cluster.clock.advance(200);
    cluster.put(account());
    await cluster.clock.advance(200);
    assert.equal((await admitted).spec?.serviceAccountName, "default");
    const late = assert.rejects(admit(serviceAccount, cluster, pod({}, { namespace: "other" })), { code: 403 });
    await cluster.clock.advance(10_000);
    await late;
  });

  it("are none for mirror pods, nor secrets", async () => {
    const annotations = { "kubernetes.io/config.mirror": "x" };
    assert.equal((await admit(serviceAccount, cluster, pod({}, { annotations }))).spec?.serviceAccountName, undefined);
    const secret = pod({ volumes: [{ name: "v", secret: { secretName: "s" } }] }, { annotations });
    await assert.rejects(admit(serviceAccount, cluster, secret), /a mirror pod may not reference secrets/);
    const other = pod({ serviceAccountName: "default" }, { annotations });
    await assert.rejects(admit(serviceAccount, cluster, other), /a mirror pod may not reference service accounts/);
  });

  it("may be kept to their own secrets", async () => {
    const annotations = { "kubernetes.io/enforce-mountable-secrets": "true" };
    cluster.put({
      ...account({ secrets: [{ name: "a" }] }),
      metadata: { name: "default", namespace: "shop", annotations },
    });
    const mounting = (secretName: string) => pod({ volumes: [{ name: "v", secret: { secretName } }] });
    await admit(serviceAccount, cluster, mounting("a"));
    await assert.rejects(admit(serviceAccount, cluster, mounting("b")), {
      message:
        'pods "p" is forbidden: volume with secret.secretName="b" is not allowed because service account default does not reference that secret',
    });
  });
});

describe("priorities", () => {
  const group = "scheduling.k8s.io/v1";
  it("are what their class says", async () => {
    cluster.put(object(group, "PriorityClass", "high", { value: 1000, preemptionPolicy: "Never" }));
    const { spec } = await admit(priority, cluster, pod({ priorityClassName: "high" }));
    assert.deepEqual([spec?.priority, spec?.preemptionPolicy], [1000, "Never"]);
    await assert.rejects(admit(priority, cluster, pod({ priorityClassName: "x" })), {
      message: 'pods "p" is forbidden: no PriorityClass with name x was found',
    });
    await assert.rejects(admit(priority, cluster, pod({ priorityClassName: "high", priority: 5 })), {
      message:
        'pods "p" is forbidden: the integer value of priority (5) must not be provided in pod spec; priority admission controller computed 1000 from the given PriorityClass name',
    });
  });

  it("without a class are those of the default class, or none", async () => {
    const none = (await admit(priority, cluster, pod())).spec;
    assert.deepEqual(
      [none?.priority, none?.preemptionPolicy, none?.priorityClassName],
      [0, "PreemptLowerPriority", undefined],
    );
    cluster.put(object(group, "PriorityClass", "usual", { value: 7, globalDefault: true }));
    const usual = (await admit(priority, cluster, pod())).spec;
    assert.deepEqual([usual?.priority, usual?.priorityClassName], [7, "usual"]);
    await assert.rejects(
      admit(priority, cluster, object(group, "PriorityClass", "b", { value: 1, globalDefault: true })),
      {
        message:
          'priorityclasses.scheduling.k8s.io "b" is forbidden: PriorityClass usual is already marked as default. Only one default can exist',
      },
    );
  });

  it("are kept by updates of clients that do not know them", async () => {
    const old = pod({ priority: 3, preemptionPolicy: "Never" });
    const { spec } = await admit(priority, cluster, pod(), { old });
    assert.deepEqual([spec?.priority, spec?.preemptionPolicy], [3, "Never"]);
  });
});

describe("what pods and nodes get", () => {
  it("is patience with nodes", async () => {
    const added = (key: string) => ({ key, operator: "Exists", effect: "NoExecute", tolerationSeconds: 300 });
    const [notReady, unreachable] = ["node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable"].map(added);
    const tolerations = async (given?: object[]) =>
      (await admit(defaultTolerationSeconds, cluster, pod(given && { tolerations: given }))).spec?.tolerations;
    assert.deepEqual(await tolerations(), [notReady, unreachable]);
    const own = { key: "node.kubernetes.io/not-ready", operator: "Exists" };
    assert.deepEqual(await tolerations([own]), [own, unreachable]);
    assert.deepEqual(await tolerations([{ operator: "Exists" }]), [{ operator: "Exists" }]);
  });

  it("is a taint until the node is ready", async () => {
    const node = (await admit(taintNodesByCondition, cluster, object("v1", "Node", "n"))) as Node;
    assert.deepEqual(node.spec?.taints, [{ key: "node.kubernetes.io/not-ready", effect: "NoSchedule" }]);
    assert.deepEqual(await admit(taintNodesByCondition, cluster, node), node);
  });

  it("is the zone of their node", async () => {
    const labels = { "topology.kubernetes.io/zone": "z", "topology.kubernetes.io/region": "r", other: "x" };
    cluster.put({ apiVersion: "v1", kind: "Node", metadata: { name: "n", labels } });
    const { metadata } = await admit(podTopologyLabels, cluster, pod({ nodeName: "n" }, { labels: { a: "b" } }));
    assert.deepEqual(metadata.labels, {
      a: "b",
      "topology.kubernetes.io/zone": "z",
      "topology.kubernetes.io/region": "r",
    });
  });
});

describe("default classes", () => {
  const claim = {
    apiVersion: "v1",
    kind: "PersistentVolumeClaim",
    metadata: { name: "d", namespace: "shop" },
    spec: {},
  };
  it("are given to claims that name none: the newest default", async () => {
    const named = async (spec: object) =>
      ((await admit(defaultStorageClass, cluster, { ...claim, spec })) as PersistentVolumeClaim).spec?.storageClassName;
    assert.equal(await named({}), undefined);
    const put = (name: string, creationTimestamp: string) =>
      cluster.put({
        ...object("storage.k8s.io/v1", "StorageClass", name),
        metadata: { name, creationTimestamp, annotations: { "storageclass.kubernetes.io/is-default-class": "true" } },
      });
    put("old", "2026-01-01T00:00:00Z");
    put("new", "2026-01-02T00:00:00Z");
    assert.equal(await named({}), "new");
    assert.equal(await named({ storageClassName: "" }), "");
  });

  it("are given to Ingresses", async () => {
    cluster.put({
      ...object("networking.k8s.io/v1", "IngressClass", "web"),
      metadata: { name: "web", annotations: { "ingressclass.kubernetes.io/is-default-class": "true" } },
    });
    const ingress = { apiVersion: "networking.k8s.io/v1", kind: "Ingress", metadata: { name: "i", namespace: "shop" } };
    const given = (await admit(defaultIngressClass, cluster, ingress)) as { spec?: { ingressClassName?: string } };
    assert.equal(given.spec?.ingressClassName, "web");
  });

  it("protect what stores data, and let only some of it grow", async () => {
    assert.deepEqual((await admit(storageObjectInUseProtection, cluster, claim)).metadata, {
      ...claim.metadata,
      finalizers: ["kubernetes.io/pvc-protection"],
    });
    const sized = (storage: string, phase: string) =>
      ({
        ...claim,
        spec: { storageClassName: "s", resources: { requests: { storage } } },
        status: { phase },
      }) as KubeObject;
    const grow = (phase: string) =>
      admit(persistentVolumeClaimResize, cluster, sized("2Gi", phase), { old: sized("1Gi", phase) });
    await assert.rejects(grow("Pending"), /Only bound persistent volume claims can be expanded/);
    await assert.rejects(grow("Bound"), /only dynamically provisioned pvc can be resized and the storageclass/);
    cluster.put(object("storage.k8s.io/v1", "StorageClass", "s", { allowVolumeExpansion: true }));
    await grow("Bound");
  });
});

describe("runtime classes", () => {
  const put = (more: object) =>
    cluster.put(object("node.k8s.io/v1", "RuntimeClass", "gvisor", { handler: "runsc", ...more }));
  const named = (spec: object = {}) => pod({ runtimeClassName: "gvisor", ...spec });

  it("have to be there", async () => {
    await assert.rejects(admit(runtimeClass, cluster, named()), {
      message: 'pods "p" is forbidden: pod rejected: RuntimeClass "gvisor" not found',
    });
  });

  it("give overhead and nodes", async () => {
    put({
      overhead: { podFixed: { cpu: "250m" } },
      scheduling: { nodeSelector: { a: "b" }, tolerations: [{ key: "k", operator: "Exists" }] },
    });
    const { spec } = await admit(runtimeClass, cluster, named({ nodeSelector: { c: "d" } }));
    assert.deepEqual(spec?.overhead, { cpu: "250m" });
    assert.deepEqual(spec?.nodeSelector, { c: "d", a: "b" });
    assert.deepEqual(spec?.tolerations, [{ key: "k", operator: "Exists" }]);
    await admit(runtimeClass, cluster, named({ overhead: { cpu: "0.25" } }));
    await assert.rejects(admit(runtimeClass, cluster, named({ overhead: { cpu: "1" } })), /Overhead doesn't match/);
    await assert.rejects(admit(runtimeClass, cluster, named({ nodeSelector: { a: "x" } })), {
      message:
        'pods "p" is forbidden: conflict: runtimeClass.scheduling.nodeSelector[a] = b; pod.spec.nodeSelector[a] = x',
    });
    await assert.rejects(admit(runtimeClass, cluster, pod({ overhead: { cpu: "1" } })), /Overhead set without/);
  });

  it("merge tolerations to those that bear the most", () => {
    const all = { operator: "Exists" as const };
    const one = { key: "k", operator: "Exists" as const };
    assert.deepEqual(mergedTolerations([one, all]), [all]);
    assert.deepEqual(mergedTolerations([all, one]), [all]);
    assert.deepEqual(mergedTolerations([one, one]), [one]);
    const equal = { key: "k", operator: "Equal" as const, value: "v" };
    assert.deepEqual(mergedTolerations([equal, one]), [one]);
  });
});

describe("limit ranges", () => {
  const put = (...limits: object[]) =>
    cluster.put({
      apiVersion: "v1",
      kind: "LimitRange",
      metadata: { name: "l", namespace: "shop" },
      spec: { limits },
    } as KubeObject);
  const asking = (resources: object) => pod({ containers: [{ name: "c", image: "i", resources }] });

  it("give containers their defaults, and note it", async () => {
    put({
      type: "Container",
      default: { cpu: "500m", memory: "512Mi" },
      defaultRequest: { cpu: "100m", memory: "256Mi" },
    });
    const { spec, metadata } = await admit(limitRanger, cluster, pod());
    assert.deepEqual(spec?.containers[0]?.resources, {
      limits: { cpu: "500m", memory: "512Mi" },
      requests: { cpu: "100m", memory: "256Mi" },
    });
    assert.equal(
      metadata.annotations?.["kubernetes.io/limit-ranger"],
      "LimitRanger plugin set: cpu, memory request for container c; cpu, memory limit for container c",
    );
    const own = await admit(limitRanger, cluster, asking({ requests: { cpu: "1" }, limits: { cpu: "2" } }));
    assert.deepEqual(own.spec?.containers[0]?.resources?.requests, { cpu: "1", memory: "256Mi" });
  });

  it("refuse what is out of bounds", async () => {
    put({ type: "Container", min: { cpu: "50m" }, max: { cpu: "1" }, maxLimitRequestRatio: { cpu: "2" } });
    const refused = (resources: object, message: string) =>
      assert.rejects(admit(limitRanger, cluster, asking(resources)), {
        code: 403,
        message: `pods "p" is forbidden: ${message}`,
      });
    await admit(limitRanger, cluster, asking({ requests: { cpu: "500m" }, limits: { cpu: "1" } }));
    await refused(
      { requests: { cpu: "10m" }, limits: { cpu: "20m" } },
      "minimum cpu usage per Container is 50m, but request is 10m",
    );
    await refused(
      { requests: { cpu: "1" }, limits: { cpu: "2000m" } },
      "maximum cpu usage per Container is 1, but limit is 2",
    );
    await refused(
      { requests: { cpu: "300m" }, limits: { cpu: "1" } },
      "cpu max limit to request ratio per Container is 2, but provided ratio is 3.333333",
    );
    await refused(
      {},
      "[minimum cpu usage per Container is 50m.  No request is specified, maximum cpu usage per Container is 1.  No limit is specified, cpu max limit to request ratio per Container is 2, but no request is specified or request is 0]",
    );
  });

  it("count whole pods, and claims", async () => {
    put({ type: "Pod", max: { memory: "1Gi" } }, { type: "PersistentVolumeClaim", min: { storage: "1Gi" } });
    const resources = { limits: { memory: "600Mi" }, requests: { memory: "600Mi" } };
    const two = pod({ containers: ["a", "b"].map((name) => ({ name, image: "i", resources })) });
    await assert.rejects(admit(limitRanger, cluster, two), {
      message: 'pods "p" is forbidden: maximum memory usage per Pod is 1Gi, but limit is 1200Mi',
    });
    const claim = {
      apiVersion: "v1",
      kind: "PersistentVolumeClaim",
      metadata: { name: "d", namespace: "shop" },
      spec: { resources: { requests: { storage: "1Mi" } } },
    };
    await assert.rejects(admit(limitRanger, cluster, claim), {
      message:
        'persistentvolumeclaims "d" is forbidden: minimum storage usage per PersistentVolumeClaim is 1Gi, but request is 1Mi',
    });
  });
});

describe("objects that are no good", () => {
  it("get past what comes before validation, which tells what is wrong with them", async () => {
    cluster.put(account());
    cluster.put({
      apiVersion: "v1",
      kind: "LimitRange",
      metadata: { name: "l", namespace: "shop" },
      spec: { limits: [{ type: "Container", default: { cpu: "1" } }] },
    } as KubeObject);
    const strange = [
      { apiVersion: "v1", kind: "Pod", metadata: { name: "p", namespace: "shop" } },
      pod({ containers: undefined }),
      pod({ containers: [{}], volumes: [{}], tolerations: [{}], initContainers: [{}] }),
    ] as Pod[];
    const all = [limitRanger, serviceAccount, priority, defaultTolerationSeconds, runtimeClass, podTopologyLabels];
    for (const one of strange) {
      for (const plugin of all) await plugin.mutate?.(requestOf(cluster, structuredClone(one)));
    }
  });
});
