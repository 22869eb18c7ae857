import assert from "node:assert/strict";
import { test } from "node:test";
import { testFacts, testPod } from "../volumes/testing/pods.ts";
import { resourceField } from "./resource-field.ts";

const pod = testPod({
  containers: [
    {
      name: "main",
      image: "x",
      resources: {
        limits: { cpu: "1250m", memory: "64Mi", "hugepages-2Mi": "4Mi" },
        requests: { cpu: "250m", memory: "32Mi", "ephemeral-storage": "1Gi" },
      },
    },
    { name: "free", image: "x" },
  ],
});
const [main, free] = pod.spec?.containers ?? [];

test("amounts are in units of the divisor, rounded up", () => {
  const cases: [string, string | undefined, string][] = [
    ["limits.cpu", undefined, "2"],
    ["limits.cpu", "1", "2"],
    ["limits.cpu", "0", "2"],
    ["limits.cpu", "1m", "1250"],
    ["requests.cpu", undefined, "1"],
    ["requests.cpu", "1m", "250"],
    ["limits.memory", undefined, String(64 * 2 ** 20)],
    ["limits.memory", "1Mi", "64"],
    ["requests.memory", "1Gi", "1"],
    ["requests.ephemeral-storage", "1Mi", "1024"],
    ["limits.hugepages-2Mi", "1Mi", "4"],
    ["requests.hugepages-2Mi", "1Mi", "0"],
  ];
  for (const [resource, divisor, value] of cases) {
    const ref = divisor === undefined ? { resource } : { resource, divisor };
    assert.equal(resourceField(pod, main, ref, testFacts), value, `${resource} by ${divisor}`);
  }
});

test("what has no limit is limited by the node", () => {
  assert.equal(resourceField(pod, free, { resource: "limits.cpu" }, testFacts), "4");
  assert.equal(resourceField(pod, free, { resource: "limits.cpu", divisor: "1m" }, testFacts), "3500");
  assert.equal(resourceField(pod, free, { resource: "limits.memory", divisor: "1Gi" }, testFacts), "8");
  assert.equal(resourceField(pod, free, { resource: "limits.ephemeral-storage", divisor: "1Gi" }, testFacts), "64");
  assert.equal(resourceField(pod, free, { resource: "requests.cpu" }, testFacts), "0");
  assert.equal(resourceField(pod, free, { resource: "limits.hugepages-2Mi" }, testFacts), "0");
});

test("the limit of the pod as a whole comes before the node's", () => {
  const limited = testPod({ resources: { limits: { memory: "1Gi" } } });
  const [container] = limited.spec?.containers ?? [];
  assert.equal(resourceField(limited, container, { resource: "limits.memory", divisor: "1Mi" }, testFacts), "1024");
  assert.equal(resourceField(limited, container, { resource: "limits.cpu", divisor: "1m" }, testFacts), "3500");
});

test("another container can be named", () => {
  const ref = { resource: "requests.memory", containerName: "main", divisor: "1Mi" };
  assert.equal(resourceField(pod, free, ref, testFacts), "32");
  assert.throws(() => resourceField(pod, free, { ...ref, containerName: "none" }, testFacts), {
    message: "container none not found",
  });
  assert.throws(() => resourceField(pod, undefined, { resource: "limits.cpu" }, testFacts), {
    code: "CONTAINER_MISSING",
  });
});

test("resources that are not offered are refused", () => {
  for (const resource of ["cpu", "limits.gpu", "limits.", "usage.cpu"]) {
    assert.throws(() => resourceField(pod, main, { resource }, testFacts), { code: "UNSUPPORTED_RESOURCE_FIELD" });
  }
});
