import assert from "node:assert/strict";
import { test } from "node:test";
import { redactObject } from "./redact-object.ts";

const SECRET = "planted-4711";

test("a pod keeps what decides its place, and loses what is its owner's", () => {
  const pod = {
    metadata: { name: "web", managedFields: [{ manager: "x" }], labels: { app: "web", token: SECRET } },
    spec: {
      imagePullSecrets: [{ name: "registry" }],
      nodeSelector: { disk: "ssd" },
      tolerations: [{ key: "a", operator: "Exists" }],
      futureField: { any: SECRET },
      containers: [
        {
          name: "main",
          image: "registry.example/web:1",
          command: ["sh", "-c", `login ${SECRET}`],
          args: [SECRET],
          env: [
            { name: "KEY", value: SECRET },
            { name: "FROM", valueFrom: { secretKeyRef: { name: "keys", key: "key" } } },
          ],
          resources: { requests: { cpu: "1" } },
          livenessProbe: {
            periodSeconds: 5,
            httpGet: { path: `/live?key=${SECRET}`, port: 80, httpHeaders: [{ name: "X-Any", value: SECRET }] },
          },
          readinessProbe: { exec: { command: ["check", SECRET] } },
          lifecycle: { preStop: { httpGet: { path: "/stop", port: 80, httpHeaders: [{ name: "A", value: SECRET }] } } },
          futureField: SECRET,
        },
      ],
      volumes: [
        { name: "v", secret: { secretName: "keys" } },
        { name: "c", csi: { driver: "d.example", volumeAttributes: { any: SECRET }, futureField: SECRET } },
        { name: "f", flexVolume: { driver: "d", options: { any: SECRET } } },
      ],
    },
    status: { phase: "Running" },
  };
  const kept = redactObject(pod) as typeof pod;
  assert.ok(!JSON.stringify(kept).includes(SECRET), JSON.stringify(kept));
  assert.deepEqual(kept.status, { phase: "Running" });
  assert.equal(kept.metadata.labels.app, "web");
  const [main] = kept.spec.containers;
  assert.equal(main?.image, "registry.example/web:1");
  assert.deepEqual(main?.resources, { requests: { cpu: "1" } });
  assert.deepEqual(main?.env[1], pod.spec.containers[0]?.env[1]);
  assert.deepEqual(main?.livenessProbe.httpGet, {
    path: "/live?[removed]",
    port: 80,
    httpHeaders: [{ name: "X-Any", value: "[removed]" }],
  });
  assert.equal(main?.livenessProbe.periodSeconds, 5);
  assert.deepEqual(kept.spec.volumes[0], pod.spec.volumes[0]);
  assert.deepEqual(kept.spec.volumes[1]?.csi, {
    driver: "d.example",
    volumeAttributes: { any: "[removed]" },
    futureField: "[removed]",
  });
  for (const field of ["imagePullSecrets", "nodeSelector", "tolerations"] as const)
    assert.deepEqual(kept.spec[field], pod.spec[field]);
});

test("the pod of a ShadowPod and that of a Deployment are pods too", () => {
  const spec = { containers: [{ name: "main", args: [SECRET], env: [{ name: "A", value: SECRET }] }] };
  const metadata = { annotations: { "a.example/b": SECRET } };
  for (const object of [{ spec: { pod: { metadata, spec } } }, { spec: { template: { metadata, spec } } }])
    assert.ok(!JSON.stringify(redactObject(object)).includes(SECRET));
});

test("of annotations only known ones are kept, of others how long they were", () => {
  const annotations = {
    "fjord.dev/cordoned": "true",
    "fjord.dev/made-up": SECRET,
    "fjord.dev/install-values": SECRET,
    "deployment.kubernetes.io/revision": "3",
    "kubectl.kubernetes.io/restartedAt": "2026-11-16T22:15:21Z",
    "kubectl.kubernetes.io/last-applied-configuration": SECRET,
    "objectset.rio.cattle.io/applied": SECRET,
    "x.io/token": SECRET,
    "api-key": SECRET,
    note: `{"kind":"Secret","data":{"a":"${SECRET}"}}`,
    empty: "",
  };
  assert.deepEqual(redactObject({ kind: "Namespace", metadata: { annotations } }), {
    kind: "Namespace",
    metadata: {
      annotations: {
        "fjord.dev/cordoned": "true",
        "fjord.dev/made-up": "[removed: 12 characters]",
        "fjord.dev/install-values": "[removed: 12 characters]",
        "deployment.kubernetes.io/revision": "3",
        "kubectl.kubernetes.io/restartedAt": "2026-11-16T22:15:21Z",
        "kubectl.kubernetes.io/last-applied-configuration": "[removed: 12 characters]",
        "objectset.rio.cattle.io/applied": "[removed: 12 characters]",
        "x.io/token": "[removed: 12 characters]",
        "api-key": "[removed: 12 characters]",
        note: "[removed: 45 characters]",
        empty: "",
      },
    },
  });
});

test("keys that everybody may know stay, and names of secrets", () => {
  const object = {
    spec: { publicKey: "3Qk0xg6E1ubSvyPLl1ZTCB1Ygt1iVx5Tw9o0m7FC0Wk=", pairingSecret: "pairing-wave" },
    status: { automountServiceAccountToken: true },
  };
  assert.deepEqual(redactObject(object), object);
  assert.deepEqual(redactObject({ data: { a: SECRET }, apiKey: SECRET, tokens: [SECRET] }), {
    data: "[removed]",
    apiKey: "[removed]",
    tokens: "[removed]",
  });
});
