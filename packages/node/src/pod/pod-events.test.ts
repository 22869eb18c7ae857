import assert from "node:assert/strict";
import { test } from "node:test";
import type { Pod } from "@fjord/kube";
import type { PodSpec } from "./pod-containers.ts";
import { FakeImages, FakeRuntime } from "./testing/fake-runtime.ts";
import { newPod, PodBench } from "./testing/pod-bench.ts";

const image = { id: "sha256:1", tags: [], digests: [], size: 1, pinned: false };

/** Reason and part of the pod of each event. */
function told(bench: PodBench): string[] {
  return bench.events.map(({ reason, fieldPath }) => `${reason} ${fieldPath ?? "-"}`);
}

test("events of containers say which one they are about", async () => {
  const images = new FakeImages();
  images.registry.set("web:1", image);
  images.registry.set("init:1", image);
  await using bench = await PodBench.start({}, (clock) => new FakeRuntime(clock, images));
  const probe = { exec: { command: ["check"] }, periodSeconds: 1, failureThreshold: 1 };
  bench.runtime.execResult = () => 1;
  const pod = newPod("web", {
    initContainers: [{ name: "first", image: "init:1" }],
    containers: [{ name: "web", image: "web:1", livenessProbe: probe }],
  });
  await bench.run(pod);
  bench.runtime.exit(bench.runtime.running("first")?.id ?? "", 0);
  await bench.advance(3);
  const events = told(bench);
  for (const reason of ["Pulling", "Pulled", "Created", "Started"]) {
    assert.ok(events.includes(`${reason} spec.initContainers{first}`), `${reason} of the init container`);
    assert.ok(events.includes(`${reason} spec.containers{web}`), `${reason} of the main container`);
  }
  assert.ok(events.includes("Unhealthy spec.containers{web}"));
  assert.ok(events.includes("Killing spec.containers{web}"));
  assert.ok(!events.some((event) => event.endsWith(" -")), "nothing here is about the pod as a whole");
});

test("events of ephemeral containers name them as such", async () => {
  await using bench = await PodBench.start();
  await bench.run(newPod("web"));
  const ephemeralContainers = [{ name: "shell", image: "busybox:1" }] as PodSpec["ephemeralContainers"] & object;
  await bench.run(newPod("web", { ephemeralContainers }));
  assert.ok(told(bench).includes("Started spec.ephemeralContainers{shell}"));
});

test("a program that cannot be run is told of once for each try, and then that it is waited with", async () => {
  await using bench = await PodBench.start();
  await bench.run(newPod("web"));
  const failures = () => bench.events.filter(({ reason }) => reason === "Failed");
  const fail = async () => {
    const container = bench.runtime.running("web");
    assert.ok(container);
    container.message = "nosuch: no such program in the PATH of the container";
    bench.runtime.exit(container.id, 127);
    bench.runtime.container(container.id).reason = "ContainerCannotRun";
    await bench.advance(1);
  };
  await fail();
  await fail();
  assert.equal(failures().length, 2);
  const { message, fieldPath } = failures()[0] ?? {};
  assert.equal(message, "Error: nosuch: no such program in the PATH of the container");
  assert.equal(fieldPath, "spec.containers{web}");
  assert.ok(told(bench).includes("BackOff spec.containers{web}"));

  await bench.stopNode();
  bench.startNode();
  await bench.advance(1);
  assert.equal(failures().length, 2, "a restart of the node tells nothing again");
});

test("pull secrets that are not there are told of, also where the image is", async () => {
  const images = new FakeImages();
  images.present.set("web:1", image);
  await using bench = await PodBench.start({}, (clock) => new FakeRuntime(clock, images));
  bench.api.secrets.set("there", { apiVersion: "v1", kind: "Secret", metadata: { name: "there" } });
  await bench.run(newPod("web", { imagePullSecrets: [{ name: "there" }, { name: "gone" }, { name: "lost" }] }));
  const event = bench.events.find(({ reason }) => reason === "FailedToRetrieveImagePullSecret");
  assert.equal(
    event?.message,
    "Unable to retrieve some image pull secrets (gone, lost); attempting to pull the image may not succeed.",
  );
  assert.equal(bench.status("web").phase, "Running");
});

test("a pod that asks for what the node does not count runs, and is told so", async () => {
  await using bench = await PodBench.start();
  const resources = { requests: { "example.com/gpu": "1" } };
  await bench.run(newPod("web", { containers: [{ name: "web", image: "web:1", resources }] }));
  const { type, message } = bench.events.find(({ reason }) => reason === "RuntimeLimited") ?? {};
  assert.deepEqual([type, message], ["Warning", "This node has no example.com/gpu to give, and does not count it."]);
  assert.equal(bench.status("web").phase, "Running");
});

test("where the cluster's DNS is not known, pods that count on it are told", async () => {
  await using bench = await PodBench.start();
  Object.assign(bench.settings, { clusterDns: [] });
  const missing = () => bench.events.filter(({ reason }) => reason === "MissingClusterDNS").map(({ pod }) => pod);
  await bench.run(newPod("plain"));
  await bench.run(newPod("host", { hostNetwork: true }));
  await bench.run(newPod("own", { dnsPolicy: "Default" }));
  await bench.run(newPod("none", { dnsPolicy: "None", dnsConfig: { nameservers: ["192.0.2.53"] } }));
  assert.deepEqual(missing(), ["plain"]);
  const { message } = bench.events.find(({ reason }) => reason === "MissingClusterDNS") ?? {};
  assert.match(message ?? "", /cannot create Pod using "ClusterFirst" policy. Falling back to "Default" policy\.$/);
});

test("a pod with something in place of an amount is refused once, and hinders nothing", async () => {
  await using bench = await PodBench.start();
  const resources = { limits: { memory: {}, cpu: "1" } };
  await bench.run(
    newPod("odd", { containers: [{ name: "web", image: "web:1", resources }] } as unknown as Pod["spec"] & object),
  );
  await bench.advance(20);
  const events = bench.events.filter(({ pod }) => pod === "odd");
  assert.deepEqual(
    events.map(({ reason, message }) => `${reason}: ${message}`),
    ["UnexpectedAdmissionError: limits of container web: memory is {}, which is no amount"],
  );
  assert.equal(bench.status("odd").phase, "Failed");
  assert.equal(bench.status("odd").reason, "UnexpectedAdmissionError");
  await bench.run(newPod("web"));
  assert.equal(bench.status("web").phase, "Running");
});
