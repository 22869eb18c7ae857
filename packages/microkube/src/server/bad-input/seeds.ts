/** Objects that are valid, and there: what is done to them has something to go wrong with. */
export interface Seed {
  /** Of all objects of its kind. */
  readonly path: string;
  readonly object: Record<string, unknown> & { readonly kind: string };
}

const labels = { app: "a" };
const spec = {
  containers: [
    { name: "c", image: "i", ports: [{ containerPort: 80, name: "http" }], env: [{ name: "A", value: "b" }] },
  ],
};
const template = { metadata: { labels }, spec };
const selector = { matchLabels: labels };

function core(plural: string, kind: string, content: object, name = "a"): Seed {
  const path = `/api/v1/namespaces/default/${plural}`;
  return { path, object: { apiVersion: "v1", kind, metadata: { name, labels, annotations: { a: "b" } }, ...content } };
}

function of(group: string, plural: string, kind: string, content: object, scope = "/namespaces/default"): Seed {
  const path = `/apis/${group}${scope}/${plural}`;
  return { path, object: { apiVersion: group, kind, metadata: { name: "a", labels }, ...content } };
}

const text = { type: "string", pattern: "^(a+)+$", maxLength: 1000 };
const rule = { rule: "self.all(x, self.all(y, self.all(z, x == z)))", message: "no" };
const numbers = { type: "array", items: { type: "integer" }, "x-kubernetes-validations": [rule] };
const open = { type: "object", "x-kubernetes-preserve-unknown-fields": true };
const byKey = {
  ...{ type: "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["k"] },
  items: { type: "object", required: ["k"], properties: { k: { type: "string" }, v: text } },
};
const schema = {
  type: "object",
  properties: {
    spec: {
      type: "object",
      properties: { text, numbers, open, byKey, either: { "x-kubernetes-int-or-string": true } },
    },
    status: open,
  },
};

/** Of custom resources, with rules and expressions that take forever where nobody counts. */
const definition = of(
  "apiextensions.k8s.io/v1",
  "customresourcedefinitions",
  "CustomResourceDefinition",
  {
    metadata: { name: "traps.hostile.example.com" },
    spec: {
      ...{
        group: "hostile.example.com",
        scope: "Namespaced",
        names: { plural: "traps", kind: "Trap", listKind: "TrapList" },
      },
      versions: [
        { name: "v1", served: true, storage: true, schema: { openAPIV3Schema: schema }, subresources: { status: {} } },
      ],
    },
  },
  "",
);

const meta = { metadata: { name: "a" } };

export const seeds: readonly Seed[] = [
  core("serviceaccounts", "ServiceAccount", {}, "default"),
  core("pods", "Pod", { spec }, "p"),
  core("pods", "Pod", { spec }),
  core("configmaps", "ConfigMap", { data: { x: "1" } }),
  core("secrets", "Secret", { data: { x: "MQ==" }, type: "Opaque" }),
  core("services", "Service", { spec: { selector: labels, ports: [{ name: "http", port: 80, targetPort: "http" }] } }),
  core("serviceaccounts", "ServiceAccount", {}),
  core("limitranges", "LimitRange", { spec: { limits: [{ type: "Container", default: { cpu: "1" } }] } }),
  core("persistentvolumeclaims", "PersistentVolumeClaim", {
    spec: { accessModes: ["ReadWriteOnce"], resources: { requests: { storage: "1Gi" } } },
  }),
  core("replicationcontrollers", "ReplicationController", { spec: { replicas: 1, selector: labels, template } }),
  { path: "/api/v1/nodes", object: { apiVersion: "v1", kind: "Node", ...meta } },
  of("apps/v1", "deployments", "Deployment", { spec: { replicas: 1, selector, template } }),
  of("apps/v1", "replicasets", "ReplicaSet", { spec: { replicas: 1, selector, template } }),
  of("apps/v1", "statefulsets", "StatefulSet", { spec: { serviceName: "a", replicas: 1, selector, template } }),
  of("apps/v1", "daemonsets", "DaemonSet", { spec: { selector, template } }),
  of("batch/v1", "jobs", "Job", { spec: { template: { spec: { ...spec, restartPolicy: "Never" } } } }),
  of("batch/v1", "cronjobs", "CronJob", {
    spec: {
      schedule: "*/5 * * * *",
      jobTemplate: { spec: { template: { spec: { ...spec, restartPolicy: "Never" } } } },
    },
  }),
  of("autoscaling/v2", "horizontalpodautoscalers", "HorizontalPodAutoscaler", {
    spec: { maxReplicas: 3, scaleTargetRef: { apiVersion: "apps/v1", kind: "Deployment", name: "a" } },
  }),
  of("networking.k8s.io/v1", "networkpolicies", "NetworkPolicy", {
    spec: { podSelector: selector, policyTypes: ["Ingress"] },
  }),
  of("networking.k8s.io/v1", "ingresses", "Ingress", {
    spec: { defaultBackend: { service: { name: "a", port: { number: 80 } } } },
  }),
  of("policy/v1", "poddisruptionbudgets", "PodDisruptionBudget", { spec: { minAvailable: 1, selector } }),
  of("rbac.authorization.k8s.io/v1", "roles", "Role", {
    rules: [{ apiGroups: [""], resources: ["pods"], verbs: ["get"] }],
  }),
  of("coordination.k8s.io/v1", "leases", "Lease", { spec: { holderIdentity: "a" } }),
  of("discovery.k8s.io/v1", "endpointslices", "EndpointSlice", {
    addressType: "IPv4",
    endpoints: [{ addresses: ["10.0.0.1"] }],
    ports: [{ name: "http", port: 80 }],
  }),
  of("scheduling.k8s.io/v1", "priorityclasses", "PriorityClass", { value: 5 }, ""),
  of("storage.k8s.io/v1", "storageclasses", "StorageClass", { provisioner: "example.com/x" }, ""),
  definition,
  of("hostile.example.com/v1", "traps", "Trap", {
    spec: { text: "aaa", numbers: [1], open: { a: { b: 1 } }, byKey: [{ k: "a" }], either: 1 },
  }),
];
