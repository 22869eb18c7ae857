import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import type { ConfigMap, Secret, Service } from "@fjord/kube";
import { kubernetesSkip } from "@fjord/testbed/testing";
import { NAMESPACE, ReflectionBed } from "./test-reflection-bed.ts";

describe("reflection between two sites", { skip: kubernetesSkip() }, () => {
  let bed: ReflectionBed;

  before(async () => {
    bed = await ReflectionBed.start();
  });

  after(() => bed?.[Symbol.asyncDispose]());

  it("gives a Service a twin with its selector, keeps it as the original is, and takes it away", async () => {
    const service = (port: number) => ({
      apiVersion: "v1",
      kind: "Service",
      metadata: { name: "web", labels: { app: "web" } },
      spec: { selector: { app: "web" }, ports: [{ name: "http", port }], sessionAffinity: "ClientIP" },
    });
    await bed.apply("home", NAMESPACE, service(80));
    const twin = await bed.twinOf<Service>("service", "web");
    const original = await bed.get<Service>("home", "service", "web", NAMESPACE);
    assert.deepEqual(twin.spec?.selector, { app: "web" });
    assert.equal(twin.spec?.sessionAffinityConfig?.clientIP?.timeoutSeconds, 10800);
    assert.notEqual(twin.spec?.clusterIP, original?.spec?.clusterIP);
    assert.equal(twin.metadata.labels?.app, "web");
    await bed.apply("home", NAMESPACE, service(8080));
    await bed.twinOf<Service>("service", "web", (found) => found?.spec?.ports?.[0]?.port === 8080);
    await bed.kubectl("home", "delete", "service", "web", "-n", NAMESPACE);
    await bed.twinOf<Service>("service", "web", (found) => found === undefined);
  });

  it("lets ConfigMaps and Secrets go where a pod needs them, and no others", async () => {
    const data = (kind: string, name: string) => ({
      apiVersion: "v1",
      kind,
      metadata: { name },
      ...(kind === "Secret" ? { stringData: { key: name } } : { data: { key: name } }),
    });
    await bed.apply(
      "home",
      NAMESPACE,
      data("ConfigMap", "settings"),
      data("ConfigMap", "diary"),
      data("Secret", "password"),
      data("Secret", "love-letter"),
    );
    await bed.apply("home", NAMESPACE, {
      apiVersion: "v1",
      kind: "Pod",
      metadata: { name: "reader" },
      spec: {
        containers: [
          {
            name: "main",
            image: "registry.example/reader:1",
            envFrom: [{ configMapRef: { name: "settings" } }],
            env: [{ name: "PASSWORD", valueFrom: { secretKeyRef: { name: "password", key: "key" } } }],
          },
        ],
      },
    });
    assert.equal((await bed.twinOf<ConfigMap>("configmap", "settings")).data?.key, "settings");
    assert.equal(
      (await bed.twinOf<Secret>("secret", "password")).data?.key,
      Buffer.from("password").toString("base64"),
    );
    const there = await bed.kubectl("away", "get", "configmaps,secrets", "-n", bed.twin, "-o", "name");
    assert.deepEqual(there.trim().split("\n").sort(), [
      "configmap/kube-root-ca.crt",
      "configmap/settings",
      "secret/password",
    ]);
    await bed.kubectl("home", "delete", "pod", "reader", "-n", NAMESPACE, "--wait=false");
    await bed.twinOf("configmap", "settings", (found) => found === undefined);
    await bed.twinOf("secret", "password", (found) => found === undefined);
  });
});
