import assert from "node:assert/strict";
import { test } from "node:test";
import { MemoryObjects } from "../volumes/testing/memory-objects.ts";
import { testFacts, testPod } from "../volumes/testing/pods.ts";
import { type ReadVolumeFile, resolveEnvironment } from "./environment.ts";
import type { Container } from "./pod-containers.ts";

/** The variables of a container with these parts. */
async function environmentOf(container: Partial<Container>, objects = new MemoryObjects(), readFile?: ReadVolumeFile) {
  const pod = testPod({ container });
  const [main] = pod.spec?.containers ?? [];
  const variables = await resolveEnvironment(pod, main as Container, testFacts, objects, readFile);
  assert.equal(new Set(variables.map(({ name }) => name)).size, variables.length, "each name once");
  return Object.fromEntries(variables.map(({ name, value }) => [name, value]));
}

test("values refer to variables that were declared before", async () => {
  const env = [
    { name: "EARLY", value: "$(LATE)" },
    { name: "HOST", value: "db" },
    { name: "URL", value: "tcp://$(HOST):$(PORT)" },
    { name: "PORT", value: "1" },
    { name: "LATE", value: "x" },
    { name: "ESCAPED", value: "$$(HOST)" },
    { name: "HOST", value: "$(HOST)2" },
    { name: "NOTHING" },
  ];
  assert.deepEqual(await environmentOf({ env }), {
    EARLY: "$(LATE)",
    HOST: "db2",
    URL: "tcp://db:$(PORT)",
    PORT: "1",
    LATE: "x",
    ESCAPED: "$(HOST)",
    NOTHING: "",
  });
});

test("values come from fields, resources, ConfigMaps and Secrets", async () => {
  const objects = new MemoryObjects();
  objects.setConfigMap("settings", { colour: "red", constructor: "no trap" });
  objects.setSecret("keys", { password: "pä55" });
  const env = [
    { name: "NODE", valueFrom: { fieldRef: { fieldPath: "spec.nodeName" } } },
    { name: "CPU", valueFrom: { resourceFieldRef: { resource: "limits.cpu", divisor: "1m" } } },
    { name: "COLOUR", valueFrom: { configMapKeyRef: { name: "settings", key: "colour" } } },
    { name: "TRAP", valueFrom: { configMapKeyRef: { name: "settings", key: "toString", optional: true } } },
    { name: "PASSWORD", valueFrom: { secretKeyRef: { name: "keys", key: "password" } } },
    { name: "BOTH", value: "$(COLOUR)-$(PASSWORD)" },
  ];
  assert.deepEqual(await environmentOf({ env }, objects), {
    NODE: "node-1",
    CPU: "3500",
    COLOUR: "red",
    PASSWORD: "pä55",
    BOTH: "red-pä55",
  });
});

test("all of a ConfigMap or Secret comes with a prefix, and env wins over it", async () => {
  const objects = new MemoryObjects();
  objects.setConfigMap("settings", { A: "1", B: "2", "odd.name-x": "3" });
  objects.setSecret("keys", { B: "secret" });
  const container = {
    envFrom: [
      { configMapRef: { name: "settings" } },
      { prefix: "P_", configMapRef: { name: "settings" } },
      { secretRef: { name: "keys" } },
      { secretRef: { name: "missing", optional: true } },
      { configMapRef: { name: "missing", optional: true } },
    ],
    env: [
      { name: "A", value: "mine" },
      { name: "SEES", value: "$(B)$(P_A)$(A)" },
      { name: "P_B", valueFrom: { configMapKeyRef: { name: "none", key: "x", optional: true } } },
    ],
  };
  assert.deepEqual(await environmentOf(container, objects), {
    A: "mine",
    B: "secret",
    "odd.name-x": "3",
    P_A: "1",
    P_B: "2",
    "P_odd.name-x": "3",
    SEES: "secret1mine",
  });
});

test("services can be referred to, and give way to what the pod declares", async () => {
  const objects = new MemoryObjects();
  objects.addService("default", "kubernetes", { clusterIP: "10.0.0.1", ports: [{ port: 443 }] });
  const env = [
    { name: "API", value: "$(KUBERNETES_SERVICE_HOST)" },
    { name: "KUBERNETES_SERVICE_HOST", value: "mine" },
    { name: "API2", value: "$(KUBERNETES_SERVICE_HOST)" },
  ];
  const variables = await environmentOf({ env }, objects);
  assert.equal(variables.API, "10.0.0.1");
  assert.equal(variables.API2, "mine");
  assert.equal(variables.KUBERNETES_SERVICE_HOST, "mine");
  assert.equal(variables.KUBERNETES_SERVICE_PORT, "443");
});

test("what is missing is told in the kubelet's words", async () => {
  const objects = new MemoryObjects();
  objects.setConfigMap("settings", {});
  objects.setSecret("keys", {});
  const cases: [Partial<Container>, string][] = [
    [{ envFrom: [{ configMapRef: { name: "x" } }] }, 'configmap "x" not found'],
    [{ envFrom: [{ secretRef: { name: "x" } }] }, 'secret "x" not found'],
    [{ env: [{ name: "A", valueFrom: { configMapKeyRef: { name: "x", key: "k" } } }] }, 'configmap "x" not found'],
    [{ env: [{ name: "A", valueFrom: { secretKeyRef: { name: "x", key: "k" } } }] }, 'secret "x" not found'],
    [
      { env: [{ name: "A", valueFrom: { configMapKeyRef: { name: "settings", key: "k" } } }] },
      "couldn't find key k in ConfigMap test/settings",
    ],
    [
      { env: [{ name: "A", valueFrom: { secretKeyRef: { name: "keys", key: "k" } } }] },
      "couldn't find key k in Secret test/keys",
    ],
  ];
  for (const [container, message] of cases) await assert.rejects(environmentOf(container, objects), { message });
});

test("values come from files that init containers leave in an emptyDir", async () => {
  const readFile: ReadVolumeFile = async (_pod, volume, path) => {
    assert.deepEqual([volume, path], ["shared", "out.env"]);
    return "TOKEN='abc'\n";
  };
  const from = (key: string, optional = false) => ({
    fileKeyRef: { volumeName: "shared", path: "out.env", key, optional },
  });
  const env = [
    { name: "A", valueFrom: from("TOKEN") },
    { name: "B", valueFrom: from("NONE", true) },
  ];
  assert.deepEqual(await environmentOf({ env }, new MemoryObjects(), readFile), { A: "abc" });
  await assert.rejects(
    environmentOf({ env: [{ name: "C", valueFrom: from("NONE") }] }, new MemoryObjects(), readFile),
    {
      message: 'environment variable key "NONE" not found in file "out.env"',
    },
  );
  await assert.rejects(environmentOf({ env: [{ name: "C", valueFrom: from("X") }] }), {
    code: "ENVIRONMENT_FILE_UNREADABLE",
  });
});
