import assert from "node:assert/strict";
import { test } from "node:test";
import { builtInSchemas } from "./built-in-schemas.ts";
import { settleEmptyFields } from "./empty-fields.ts";
import type { Schema } from "./schema.ts";

const schemas = builtInSchemas();

function settled(group: string, kind: string, object: unknown): unknown {
  settleEmptyFields(object, schemas.of({ group, version: "v1", kind }) as Schema);
  return object;
}

test("structs are written although nobody set them, lists and flags are not", () => {
  const pod = {
    metadata: { name: "a", labels: {} },
    spec: { hostNetwork: false, containers: [{ name: "x", args: [] }] },
  };
  assert.deepEqual(settled("", "Pod", pod), {
    metadata: { name: "a" },
    spec: { containers: [{ name: "x", resources: {} }] },
    status: {},
  });
  const service = { metadata: { name: "a" }, spec: { ports: [{ port: 80, targetPort: 80 }] } };
  assert.deepEqual(settled("", "Service", service), {
    metadata: { name: "a" },
    spec: { ports: [{ port: 80, targetPort: 80 }] },
    status: { loadBalancer: {} },
  });
});

test("what is a pointer stays as it is, zero or not", () => {
  const deployment = { metadata: {}, spec: { replicas: 0, selector: {}, strategy: {}, template: {} } };
  assert.deepEqual(settled("apps", "Deployment", deployment), {
    metadata: {},
    spec: {
      replicas: 0,
      selector: {},
      strategy: {},
      template: { metadata: {}, spec: { containers: null } },
    },
    status: {},
  });
});

test("a list that must be there is null when it is empty", () => {
  const role = { metadata: { name: "a" }, rules: [] };
  assert.deepEqual(settled("rbac.authorization.k8s.io", "ClusterRole", role), { metadata: { name: "a" }, rules: null });
});

test("times that are not set are null in conditions", () => {
  const pod = { metadata: {}, spec: { containers: [] }, status: { conditions: [{ type: "Ready", status: "True" }] } };
  assert.deepEqual((settled("", "Pod", pod) as { status: unknown }).status, {
    conditions: [{ type: "Ready", status: "True", lastProbeTime: null, lastTransitionTime: null }],
  });
});

test("settling twice changes nothing more", () => {
  const once = settled("", "Pod", { spec: { containers: [{ name: "x" }], volumes: [{ name: "v" }] } });
  assert.deepEqual(settled("", "Pod", structuredClone(once)), once);
});
