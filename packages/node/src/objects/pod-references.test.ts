import assert from "node:assert/strict";
import { test } from "node:test";
import type { Pod } from "@fjord/kube";
import { podReferences } from "./pod-references.ts";

function referencesOf(spec: Partial<NonNullable<Pod["spec"]>>): string[] {
  const metadata = { name: "p", namespace: "n" };
  const pod: Pod = { apiVersion: "v1", kind: "Pod", metadata, spec: { containers: [], ...spec } };
  return podReferences(pod).map(({ kind, namespace, name }) => `${kind} ${namespace}/${name}`);
}

const configMapVariable = { name: "A", valueFrom: { configMapKeyRef: { name: "c", key: "k" } } };
const secretVariable = { name: "B", valueFrom: { secretKeyRef: { name: "s", key: "k" } } };
const cases: [string, Partial<NonNullable<Pod["spec"]>>, string[]][] = [
  ["nothing", {}, []],
  ["variables of containers", { containers: [{ name: "a", env: [configMapVariable] }] }, ["ConfigMap n/c"]],
  ["variables of init containers", { initContainers: [{ name: "a", env: [secretVariable] }] }, ["Secret n/s"]],
  [
    "variables of ephemeral containers",
    { ephemeralContainers: [{ name: "a", env: [secretVariable] }] },
    ["Secret n/s"],
  ],
  ["variables of the pod's own fields", { containers: [{ name: "a", env: [{ name: "X", value: "1" }] }] }, []],
  [
    "whole objects as variables",
    { containers: [{ name: "a", envFrom: [{ configMapRef: { name: "c" } }, { secretRef: { name: "s" } }] }] },
    ["ConfigMap n/c", "Secret n/s"],
  ],
  ["pull secrets", { imagePullSecrets: [{ name: "r" }, {}] }, ["Secret n/r"]],
  [
    "volumes",
    {
      volumes: [
        { name: "1", configMap: { name: "c" } },
        { name: "2", secret: { secretName: "s" } },
        { name: "3", persistentVolumeClaim: { claimName: "d" } },
        { name: "4", emptyDir: {} },
      ],
    },
    ["ConfigMap n/c", "Secret n/s", "PersistentVolumeClaim n/d"],
  ],
  [
    "projected volumes",
    {
      volumes: [
        {
          name: "1",
          projected: {
            sources: [{ configMap: { name: "c" } }, { secret: { name: "s" } }, { serviceAccountToken: { path: "t" } }],
          },
        },
      ],
    },
    ["ConfigMap n/c", "Secret n/s"],
  ],
  ["claims made for the pod", { volumes: [{ name: "v", ephemeral: {} }] }, ["PersistentVolumeClaim n/p-v"]],
  [
    "the same one twice",
    {
      containers: [{ name: "a", env: [configMapVariable, configMapVariable] }],
      volumes: [{ name: "1", configMap: { name: "c" } }],
    },
    ["ConfigMap n/c"],
  ],
];
for (const [what, spec, expected] of cases) {
  test(`a pod refers to ${what}`, () => assert.deepEqual(referencesOf(spec), expected));
}
