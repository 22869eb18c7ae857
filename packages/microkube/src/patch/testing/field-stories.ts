import type { ResetFields } from "../patch.ts";

export interface Step {
  readonly create?: unknown;
  readonly apply?: unknown;
  readonly patch?: unknown;
  readonly put?: (object: Any) => void;
  readonly type?: string;
  readonly by?: string;
  readonly force?: boolean;
  readonly subresource?: string;
}

// biome-ignore lint/suspicious/noExplicitAny: objects of many kinds are changed here
export type Any = any;

export interface Story {
  readonly name: string;
  readonly kind: { group: string; version: string; kind: string };
  readonly path: string;
  readonly object: Any;
  readonly steps: readonly Step[];
  /** What the server sets behind the managers' back. */
  readonly quiet?: (object: Any) => void;
  readonly reset?: Record<string, ResetFields>;
}

const container = (name: string, more = {}) => ({ name, image: `${name}:1`, ...more });
const apps = (kind: string) => ({ group: "apps", version: "v1", kind });
const core = (kind: string) => ({ group: "", version: "v1", kind });
const labels = { app: "a" };
const deployment = (more: Any = {}) => ({
  apiVersion: "apps/v1",
  kind: "Deployment",
  metadata: { name: "web", labels: { own: "1" }, ...more.metadata },
  spec: {
    replicas: 2,
    selector: { matchLabels: labels },
    template: {
      metadata: { labels },
      spec: { containers: [container("web", { ports: [{ containerPort: 80 }], env: [{ name: "A", value: "1" }] })] },
    },
    ...more.spec,
  },
});
const applied = (podSpec: Any, metadata = {}) => ({
  ...deployment({
    spec: { template: { metadata: { labels }, spec: podSpec } },
  }),
  metadata: { name: "applied", ...metadata },
});

const strategic = "application/strategic-merge-patch+json";
const merge = "application/merge-patch+json";
const json = "application/json-patch+json";
const condition = (type: string, status = "True") => ({ type, status, reason: "R", message: "m" });
const configMap = (more: Any) => ({
  apiVersion: "v1",
  kind: "ConfigMap",
  metadata: { name: "settings", ...more.metadata },
  ...more,
});

/** Writes of one object by several managers. */
export const stories: readonly Story[] = [
  {
    name: "a deployment that several write",
    kind: apps("Deployment"),
    path: "/apis/apps/v1/namespaces/default/deployments/web",
    object: deployment(),
    reset: { status: [["spec"], ["metadata", "labels"]] },
    steps: [
      { by: "scaler", type: merge, patch: { spec: { replicas: 3 } } },
      { by: "ui", type: strategic, patch: { spec: { template: { spec: { containers: [container("side")] } } } } },
      { by: "ui", type: strategic, patch: { metadata: { labels: { more: "x" }, annotations: { note: "y" } } } },
      { by: "apply", apply: deployment() },
      { by: "apply", apply: deployment(), force: true },
      { by: "apply", apply: deployment() },
      { by: "other", apply: { ...deployment(), spec: undefined, metadata: { name: "web", labels: { other: "1" } } } },
      { by: "apply", apply: deployment({ spec: { replicas: undefined } }) },
      { by: "apply", apply: deployment({ spec: { replicas: 5 } }) },
      {
        by: "controller",
        subresource: "status",
        type: merge,
        patch: { status: { replicas: 1, conditions: [condition("Available")] } },
      },
      {
        by: "controller",
        subresource: "status",
        type: merge,
        patch: { status: { replicas: 2, conditions: [condition("Available", "False")] } },
      },
      {
        by: "ui",
        put: (it) => {
          it.spec.template.spec.containers.shift();
        },
      },
      {
        by: "ui",
        put: (it) => {
          it.metadata.labels = undefined;
          it.spec.paused = true;
        },
      },
      { by: "ui", type: json, patch: [{ op: "remove", path: "/spec/paused" }] },
      { by: "ui", put: () => {} },
    ],
  },
  {
    name: "a deployment made by apply",
    kind: apps("Deployment"),
    path: "/apis/apps/v1/namespaces/default/deployments/applied",
    object: undefined,
    reset: { status: [["spec"], ["metadata", "labels"]] },
    steps: [
      { by: "one", apply: { ...deployment(), metadata: { name: "applied", annotations: {} } } },
      { by: "two", apply: { ...deployment({ spec: { replicas: 2 } }), metadata: { name: "applied" } } },
      {
        by: "two",
        apply: { ...deployment({ spec: { replicas: 7, minReadySeconds: 3 } }), metadata: { name: "applied" } },
      },
      {
        by: "two",
        apply: { ...deployment({ spec: { replicas: 7, minReadySeconds: 3 } }), metadata: { name: "applied" } },
        force: true,
      },
      { by: "one", apply: { apiVersion: "apps/v1", kind: "Deployment", metadata: { name: "applied" } } },
      {
        by: "three",
        subresource: "status",
        apply: {
          apiVersion: "apps/v1",
          kind: "Deployment",
          metadata: { name: "applied" },
          status: { replicas: 1, conditions: [condition("A"), condition("B")] },
        },
      },
      {
        by: "three",
        subresource: "status",
        apply: {
          apiVersion: "apps/v1",
          kind: "Deployment",
          metadata: { name: "applied" },
          status: { conditions: [condition("B")] },
        },
      },
      {
        by: "two",
        apply: applied(
          {
            containers: [container("web"), container("side")],
            tolerations: [{ key: "x", operator: "Exists" }],
            imagePullSecrets: [{ name: "p" }],
          },
          { finalizers: ["a.b/c", "d.e/f"] },
        ),
        force: true,
      },
      {
        by: "two",
        apply: applied(
          { containers: [container("side")], volumes: [{ name: "v", emptyDir: {} }] },
          { finalizers: ["d.e/f"] },
        ),
      },
      {
        by: "four",
        apply: applied(
          {
            containers: [container("new"), container("side"), container("web")],
            volumes: [{ name: "v", emptyDir: { medium: "Memory" } }],
          },
          { finalizers: ["d.e/f"] },
        ),
      },
      {
        by: "four",
        apply: applied(
          {
            containers: [container("new"), container("side"), container("web")],
            volumes: [{ name: "v", emptyDir: { medium: "Memory" } }],
          },
          { finalizers: ["d.e/f"] },
        ),
        force: true,
      },
      { by: "two", apply: applied({ containers: [container("side")], nodeSelector: { a: "b" } }) },
      {
        by: "four",
        apply: applied({
          containers: [
            container("new", {
              resources: { limits: { cpu: "1000m" } },
              env: [{ name: "B" }, { name: "A", value: "x" }],
            }),
          ],
        }),
      },
      {
        by: "four",
        apply: applied({
          containers: [container("new", { resources: { limits: { cpu: "1" } }, env: [{ name: "A", value: "x" }] })],
          nodeSelector: { a: "c" },
        }),
      },
      {
        by: "bad",
        apply: { apiVersion: "apps/v1", kind: "Deployment", metadata: { name: "applied", managedFields: [] } },
      },
      {
        by: "bad",
        apply: {
          apiVersion: "apps/v1",
          kind: "Deployment",
          metadata: { name: "applied" },
          spec: { template: { spec: { containers: [container("x"), container("x")] } } },
        },
      },
    ],
  },
  {
    name: "a config map and its managers",
    kind: core("ConfigMap"),
    path: "/api/v1/namespaces/default/configmaps/settings",
    object: configMap({
      data: { a: "1" },
      metadata: {
        name: "settings",
        finalizers: ["x.y/z"],
        ownerReferences: [{ apiVersion: "v1", kind: "Node", name: "n", uid: "u" }],
      },
    }),
    steps: [
      // Those of one second are ordered by name: their names are in the order of their time, however long they take.
      ...Array.from({ length: 12 }, (_, at) => ({
        by: `writer-${String(at).padStart(2, "0")}`,
        type: merge,
        patch: { data: { [`k${at}`]: "v" } },
      })),
      { by: "apply", apply: configMap({ data: { a: "1", b: "2" } }) },
      { by: "apply", apply: configMap({ data: { a: "2" } }) },
      { by: "apply", apply: configMap({ data: { a: "2" } }), force: true },
      { by: "apply", apply: configMap({ data: { b: "2" } }) },
      { by: "apply", apply: configMap({}) },
      {
        by: "ui",
        put: (it) => {
          it.metadata.managedFields = [];
        },
      },
      { by: "apply", apply: configMap({ data: { a: "3" } }) },
      {
        by: "ui",
        put: (it) => {
          it.data = undefined;
          it.binaryData = { x: "YQ==" };
        },
      },
      {
        by: "ui",
        put: (it) => {
          it.metadata.managedFields = [{}];
          it.data = { z: "1" };
        },
      },
    ],
  },
  {
    name: "a config map that kubectl applied in its own way",
    kind: core("ConfigMap"),
    path: "/api/v1/namespaces/default/configmaps/kubectl",
    object: {
      ...configMap({ data: { a: "1", b: "2" } }),
      metadata: {
        name: "kubectl",
        annotations: {
          "kubectl.kubernetes.io/last-applied-configuration": JSON.stringify({
            apiVersion: "v1",
            kind: "ConfigMap",
            metadata: { name: "kubectl" },
            data: { a: "1", b: "2" },
          }),
        },
      },
    },
    steps: [
      {
        by: "kubectl",
        apply: { apiVersion: "v1", kind: "ConfigMap", metadata: { name: "kubectl" }, data: { a: "9", b: "2" } },
      },
      { by: "ui", type: merge, patch: { data: { b: "5" } } },
      {
        by: "kubectl",
        apply: { apiVersion: "v1", kind: "ConfigMap", metadata: { name: "kubectl" }, data: { a: "9", b: "2" } },
      },
    ],
  },
  {
    name: "a service",
    kind: core("Service"),
    path: "/api/v1/namespaces/default/services/svc",
    object: {
      apiVersion: "v1",
      kind: "Service",
      metadata: { name: "svc" },
      spec: {
        selector: labels,
        ports: [
          { port: 80, name: "a" },
          { port: 80, protocol: "UDP", name: "b" },
        ],
      },
    },
    quiet: ({ spec }) => {
      for (const name of ["clusterIP", "clusterIPs", "ipFamilies", "ipFamilyPolicy"]) delete spec[name];
    },
    steps: [
      {
        by: "apply",
        apply: {
          apiVersion: "v1",
          kind: "Service",
          metadata: { name: "svc" },
          spec: {
            ports: [
              { port: 80, name: "a" },
              { port: 81, name: "c" },
            ],
          },
        },
      },
      {
        by: "apply",
        apply: {
          apiVersion: "v1",
          kind: "Service",
          metadata: { name: "svc" },
          spec: { ports: [{ port: 80, name: "a", targetPort: "http" }] },
        },
      },
      {
        by: "apply",
        force: true,
        apply: {
          apiVersion: "v1",
          kind: "Service",
          metadata: { name: "svc" },
          spec: { ports: [{ port: 80, name: "a", targetPort: "http" }], selector: { app: "b" } },
        },
      },
      {
        by: "ui",
        type: strategic,
        patch: {
          spec: {
            ports: [
              { port: 80, $patch: "delete" },
              { port: 90, name: "d" },
            ],
          },
        },
      },
      {
        by: "lb",
        subresource: "status",
        type: merge,
        patch: { status: { conditions: [{ ...condition("Up"), lastTransitionTime: "2026-01-01T00:00:00Z" }] } },
      },
    ],
    reset: { status: [["spec"]] },
  },
  {
    name: "a node",
    kind: core("Node"),
    path: "/api/v1/nodes/n1",
    object: {
      apiVersion: "v1",
      kind: "Node",
      metadata: { name: "n1", labels: { zone: "z" } },
      spec: { taints: [{ key: "a", effect: "NoSchedule" }], podCIDR: "10.0.0.0/24" },
    },
    quiet: ({ spec }) => {
      spec.taints = spec.taints?.filter((taint: Any) => taint.key !== "node.kubernetes.io/not-ready");
    },
    steps: [
      {
        by: "kubelet",
        subresource: "status",
        type: strategic,
        patch: {
          status: {
            capacity: { cpu: "2" },
            conditions: [{ type: "Ready", status: "True" }],
            addresses: [{ type: "InternalIP", address: "1.1.1.1" }],
          },
        },
      },
      { by: "ctrl", type: strategic, patch: { metadata: { annotations: { x: "1" } }, spec: { unschedulable: true } } },
      {
        by: "kubelet",
        subresource: "status",
        type: strategic,
        patch: {
          status: {
            conditions: [
              { type: "Ready", status: "False" },
              { type: "Disk", status: "False" },
            ],
          },
        },
      },
    ],
    reset: { status: [["spec"]] },
  },
  {
    name: "a role",
    kind: { group: "rbac.authorization.k8s.io", version: "v1", kind: "ClusterRole" },
    path: "/apis/rbac.authorization.k8s.io/v1/clusterroles/r1",
    object: { apiVersion: "rbac.authorization.k8s.io/v1", kind: "ClusterRole", metadata: { name: "r1" } },
    steps: [
      {
        by: "apply",
        apply: {
          apiVersion: "rbac.authorization.k8s.io/v1",
          kind: "ClusterRole",
          metadata: { name: "r1" },
          rules: [{ verbs: ["get"], resources: ["pods"], apiGroups: [""] }],
        },
      },
      {
        by: "apply",
        apply: { apiVersion: "rbac.authorization.k8s.io/v1", kind: "ClusterRole", metadata: { name: "r1" }, rules: [] },
      },
      { by: "ui", type: merge, patch: { aggregationRule: { clusterRoleSelectors: [{ matchLabels: { a: "b" } }] } } },
    ],
  },
];
