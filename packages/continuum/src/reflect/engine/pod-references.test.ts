import assert from "node:assert/strict";
import { it } from "node:test";
import type { Pod } from "@fjord/kube";
import { referencesOf } from "./pod-references.ts";

it("a pod needs what its environment, volumes and pull secrets name", () => {
  const pod: Pod = {
    apiVersion: "v1",
    kind: "Pod",
    metadata: {},
    spec: {
      initContainers: [{ name: "i", envFrom: [{ configMapRef: { name: "c1" } }, { secretRef: { name: "s1" } }] }],
      containers: [
        {
          name: "c",
          env: [
            { name: "A", valueFrom: { configMapKeyRef: { name: "c2", key: "k" } } },
            { name: "B", valueFrom: { secretKeyRef: { name: "s2", key: "k" } } },
            { name: "C", value: "x" },
          ],
        },
      ],
      volumes: [
        { name: "a", configMap: { name: "c3" } },
        { name: "b", secret: { secretName: "s3" } },
        { name: "c", projected: { sources: [{ configMap: { name: "c4" } }, { secret: { name: "s4" } }] } },
        { name: "d", persistentVolumeClaim: { claimName: "p1" } },
        { name: "e", csi: { driver: "x", nodePublishSecretRef: { name: "s5" } } },
        { name: "f", emptyDir: {} },
      ],
      imagePullSecrets: [{ name: "s6" }],
    },
  };
  const { configmaps, secrets, persistentvolumeclaims } = referencesOf(pod);
  assert.deepEqual([...configmaps].sort(), ["c1", "c2", "c3", "c4"]);
  assert.deepEqual([...secrets].sort(), ["s1", "s2", "s3", "s4", "s5", "s6"]);
  assert.deepEqual([...persistentvolumeclaims], ["p1"]);
});
