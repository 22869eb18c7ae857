import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import type { KubeObject } from "@fjord/base";
import { ApiError, KubeClient } from "@fjord/kube";
import { kubernetesSkip, startTestSite, type TestSite } from "@fjord/testbed/testing";
import { builtInSchemas } from "../schema/built-in-schemas.ts";
import { GoTypes } from "../schema/go-types.ts";
import type { Schema } from "../schema/schema.ts";
import { readTyped } from "../schema/typed-value.ts";
import { StatusError } from "../status-error.ts";
import { patches } from "./index.ts";
import type { FieldManager, ResetFields } from "./patch.ts";

// The same writes on a real API server and here: what it says of the managers must be what we say, given what it made of
// the object. So nothing is assumed of how managed fields work.

const types = new GoTypes();

interface Step {
  readonly apply?: unknown;
  readonly patch?: unknown;
  readonly put?: (object: Any) => void;
  readonly type?: string;
  readonly by?: string;
  readonly force?: boolean;
  readonly subresource?: string;
}

// biome-ignore lint/suspicious/noExplicitAny: objects of many kinds are changed here
type Any = any;

interface Story {
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

const stories: readonly Story[] = [
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
      ...Array.from({ length: 12 }, (_, at) => ({
        by: `writer-${at}`,
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

describe("managed fields are those of a real API server", { skip: kubernetesSkip() }, () => {
  let site: TestSite;
  let client: KubeClient;
  const schemas = builtInSchemas();

  before(async () => {
    site = await startTestSite();
    client = new KubeClient(site.config, { userAgent: "test" });
  });
  after(async () => {
    await client?.close();
    await site?.stop();
  });

  for (const story of stories) {
    test(story.name, async () => {
      const schema = schemas.of(story.kind) as Schema;
      let live: Any;
      if (story.object !== undefined) {
        const collection = story.path.slice(0, story.path.lastIndexOf("/"));
        live = await send("POST", collection, story.object, "application/json", { fieldManager: "maker" });
        check(story, schema, { by: "maker" }, undefined, live, "create");
      }
      for (const [index, step] of story.steps.entries()) {
        const next = await perform(story, step, live);
        check(story, schema, step, live, next, `step ${index}`);
        if (!(next instanceof ApiError)) live = next;
      }
    });
  }

  async function perform(story: Story, step: Step, live: Any): Promise<Any> {
    const path = step.subresource === undefined ? story.path : `${story.path}/${step.subresource}`;
    const query: Record<string, string> = { fieldManager: step.by ?? "ui" };
    try {
      if (step.put !== undefined) {
        const object = structuredClone(live);
        step.put(object);
        return await send("PUT", path, object, "application/json", query);
      }
      if (step.patch !== undefined) return await send("PATCH", path, step.patch, step.type ?? merge, query);
      if (step.force) query.force = "true";
      return await send("PATCH", path, step.apply, "application/apply-patch+yaml", query);
    } catch (error) {
      if (error instanceof ApiError) return error;
      throw error;
    }
  }

  async function send(
    method: "POST" | "PUT" | "PATCH",
    path: string,
    body: unknown,
    type: string,
    query: Record<string, string>,
  ) {
    const headers = { "content-type": type };
    const answer = await client.raw(method, path, { query, headers, body: JSON.stringify(body) });
    return JSON.parse(answer.body.toString());
  }
});

function check(story: Story, schema: Schema, step: Step, live: Any, next: Any, where: string): void {
  const { group, version } = story.kind;
  const apiVersion = group === "" ? version : `${group}/${version}`;
  const manager: FieldManager = {
    name: step.by ?? "ui",
    apiVersion,
    time: "NOW",
    ...(step.subresource !== undefined && { subresource: step.subresource }),
  };
  const resetFields = story.reset?.[step.subresource ?? ""] ?? [["status"]];
  if (step.apply !== undefined) {
    const config = JSON.parse(JSON.stringify(step.apply)) as KubeObject;
    const request = { live, config, schema, manager, force: step.force ?? false, resetFields };
    if (next instanceof ApiError)
      assert.deepEqual(
        refusalOf(() => patches.apply(request)),
        statusOf(next),
        where,
      );
    else {
      const mine = patches.apply(request) as Any;
      assert.deepEqual(managersOf(mine, live), managersOf(next, live), where);
      if (live !== undefined) assertKeeps(readTyped(mine, schema, types).value, next, where);
    }
    return;
  }
  assert.ok(!(next instanceof ApiError), `${where}: ${next.message}`);
  const quiet = (object: Any) => {
    const copy = structuredClone(object);
    if (copy !== undefined) story.quiet?.(copy);
    return copy;
  };
  const wanted = quiet(next);
  delete wanted.metadata.managedFields;
  if (step.put !== undefined) {
    const sent = structuredClone(live);
    step.put(sent);
    wanted.metadata.managedFields = sent.metadata.managedFields;
  }
  const mine = patches.updateManagedFields(quiet(live), wanted, schema, manager, resetFields);
  assert.deepEqual(managersOf(mine, live), managersOf(next, live), where);
}

/** Times are told apart only by whether they are what they were. */
function managersOf(object: Any, live: Any): unknown {
  const times = new Set((live?.metadata.managedFields ?? []).map(({ time }: Any) => time));
  const found = (object.metadata.managedFields ?? []).map((entry: Any) => ({
    ...entry,
    time: entry.time === undefined ? "none" : entry.time === "NOW" || !times.has(entry.time) ? "now" : "before",
  }));
  return new Map(
    found.map((entry: Any) => [`${entry.manager} ${entry.operation} ${entry.subresource ?? ""}`, withoutClock(entry)]),
  );
}

/** A second is too long to tell now from before in a test. */
function withoutClock({ time, ...entry }: Any): unknown {
  return { ...entry, time: time === "none" ? "none" : "some" };
}

/** What apply makes is what the server makes, but for what it sets itself and fills in. */
function assertKeeps(mine: Any, next: Any, where: string): void {
  const { managedFields: _m, resourceVersion: _r, generation: _g, ...metadata } = mine.metadata;
  assertPart({ ...mine, metadata }, next, where);
}

function assertPart(part: unknown, whole: unknown, where: string): void {
  if (typeof part !== "object" || part === null || Object.keys(part).length === 0) {
    const isNothing = typeof part === "object" && (whole === null || whole === undefined);
    if (!isNothing)
      assert.deepEqual(typeof part === "object" ? {} : part, typeof part === "object" ? {} : whole, where);
    return;
  }
  assert.equal(Array.isArray(part), Array.isArray(whole), where);
  if (Array.isArray(part)) assert.equal(part.length, (whole as unknown[]).length, where);
  for (const [key, value] of Object.entries(part)) assertPart(value, (whole as Any)[key], `${where}.${key}`);
}

function refusalOf(run: () => unknown): unknown {
  try {
    run();
  } catch (error) {
    if (error instanceof StatusError) return plain(error.code, error.message, error.details?.causes);
    throw error;
  }
  return "not refused";
}

function statusOf(error: ApiError): unknown {
  return plain(error.statusCode, error.status?.message, error.status?.details?.causes);
}

/** A server's own fault is a client's mistake here. */
function plain(code: number, message: string | undefined, causes: readonly Any[] = []): unknown {
  const sorted = causes.map((cause) => JSON.stringify(Object.entries(cause).sort())).sort();
  return { code: code === 500 ? 400 : code, message, causes: sorted };
}
