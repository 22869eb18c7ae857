import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { seededRandom, silentLogger, sleep, systemClock } from "@fjord/base";
import {
  CoreEvent,
  clusterConfig,
  EventRecorder,
  ifNotFound,
  KubeClient,
  Node,
  Pod,
  ServiceAccount,
} from "@fjord/kube";
import { Authority, siteFiles } from "@fjord/testbed";
import { type SharedTestSite, sharedTestSite } from "@fjord/testbed/shared-sites";
import { kubernetesSkip } from "@fjord/testbed/testing";
import { ApiPodObjects } from "../objects/api-pod-objects.ts";
import { ApiPodSource } from "../pod-source/api-pod-source.ts";
import { NodeStore } from "../store/node-store.ts";
import type { PodSpec, PodStatus } from "./pod-containers.ts";
import { PodManager } from "./pod-manager.ts";
import { FakeApi } from "./testing/fake-api.ts";
import { FakeRuntime } from "./testing/fake-runtime.ts";

const clock = systemClock;
const logger = silentLogger;
const nodeName = "edge";

describe("pods of a real API, with a node's rights and no more", { skip: kubernetesSkip() }, () => {
  let site: SharedTestSite;
  let admin: KubeClient;
  let directory: string;
  let life: Life;
  let runtime: FakeRuntime;

  before(async () => {
    directory = await mkdtemp(join(tmpdir(), "fjord-manager-"));
    site = await sharedTestSite();
    admin = new KubeClient(site.config);
    const node = await admin.create(Node, { apiVersion: "v1", kind: "Node", metadata: { name: nodeName } });
    // The API refuses resizes beyond what the node says it has: only the node itself knows that it has less.
    const amounts = { cpu: "1000", memory: "64Gi", pods: "110" };
    await admin.updateStatus(Node, { ...node, status: { capacity: amounts, allocatable: amounts } });
    const metadata = { name: "default", namespace: "default" };
    await admin.create(ServiceAccount, { apiVersion: "v1", kind: "ServiceAccount", metadata });
    runtime = new FakeRuntime(clock);
    life = await Life.begin(await nodeClient(), directory, runtime);
  });

  after(async () => {
    await life?.[Symbol.asyncDispose]();
    await admin?.close();
    await rm(directory, { recursive: true, force: true });
  });

  async function nodeClient(): Promise<KubeClient> {
    const ca = await Authority.load(siteFiles(site.site.layout).pki, "ca");
    const subject = { commonName: `system:node:${nodeName}`, organizations: ["system:nodes"] };
    const { certificate: cert, key } = await ca.issue(subject, clock.now());
    return new KubeClient(clusterConfig({ server: site.config.server, ca: site.config.tls.ca, cert, key }), {
      closeGraceMs: 500,
    });
  }

  async function create(name: string, spec: Partial<PodSpec> = {}): Promise<Pod> {
    const whole = {
      nodeName,
      automountServiceAccountToken: false,
      containers: [{ name: "web", image: "web:1" }],
      ...spec,
    };
    const metadata = { name, namespace: "default" };
    return admin.create(Pod, { apiVersion: "v1", kind: "Pod", metadata, spec: whole });
  }

  const key = (name: string) => ({ name, namespace: "default" });

  async function until(name: string, what: string, holds: (status: PodStatus, pod: Pod) => unknown): Promise<Pod> {
    let last: Pod | undefined;
    for (const end = clock.now() + 60_000; ; await sleep(clock, 30)) {
      last = await admin.get(Pod, key(name)).catch(() => last);
      if (last?.status !== undefined && holds(last.status, last)) return last;
      assert.ok(clock.now() < end, `not within 60 s: ${what}: ${JSON.stringify(last?.status)}`);
    }
  }

  async function untilGone(name: string): Promise<void> {
    for (const end = clock.now() + 60_000; ; await sleep(clock, 30)) {
      const pod = await admin.get(Pod, key(name)).catch(ifNotFound);
      if (pod === undefined) return;
      assert.ok(clock.now() < end, `${name} is still there: ${JSON.stringify(pod.status)}`);
    }
  }

  const isReady = (status: PodStatus) =>
    status.conditions?.some(({ type, status }) => type === "Ready" && status === "True");

  test("a pod becomes ready, tells of itself by events, and goes when deleted", async () => {
    const { metadata } = await create("web");
    const pod = await until("web", "ready", isReady);
    assert.equal(pod.status?.phase, "Running");
    assert.equal(pod.status?.observedGeneration, 1);
    assert.deepEqual(pod.status?.hostIPs, [{ ip: "192.0.2.1" }]);
    assert.equal(pod.status?.containerStatuses?.[0]?.containerID, `fake://${runtime.running("web", metadata.uid)?.id}`);
    const fieldSelector = `involvedObject.uid=${metadata.uid}`;
    await waitFor(async () => {
      const { items } = await admin.list(CoreEvent, { namespace: "default", fieldSelector });
      const reasons = items.map(({ reason }) => reason).toSorted();
      return reasons.join() === "Created,MissingClusterDNS,Started";
    });
    await admin.delete(Pod, key("web"), { gracePeriodSeconds: 5 });
    await untilGone("web");
    assert.equal(
      runtime.sandboxes.some(({ pod }) => pod.uid === metadata.uid),
      false,
    );
  });

  test("statuses of init, sidecar and ephemeral containers are taken by the API", async () => {
    const { metadata } = await create("many", {
      initContainers: [
        { name: "init", image: "i:1" },
        { name: "side", image: "s:1", restartPolicy: "Always" },
      ],
      containers: [{ name: "web", image: "web:1", resources: { requests: { cpu: "10m" }, limits: { memory: "1Gi" } } }],
    });
    await until("many", "init runs", (status) => status.initContainerStatuses?.[0]?.state?.running);
    runtime.exit(runtime.running("init", metadata.uid)?.id ?? "", 0);
    const ready = await until("many", "ready", isReady);
    assert.equal(ready.status?.initContainerStatuses?.[1]?.started, true);
    assert.deepEqual(ready.status?.containerStatuses?.[0]?.allocatedResources, { cpu: "10m", memory: "1Gi" });

    const debug = { name: "debug", image: "d:1", targetContainerName: "web" };
    await admin.patch(
      Pod,
      key("many"),
      "strategic",
      { spec: { ephemeralContainers: [debug] } },
      { subresource: "ephemeralcontainers" },
    );
    await until("many", "debug runs", (status) => status.ephemeralContainerStatuses?.[0]?.state?.running);
    runtime.exit(runtime.running("web", metadata.uid)?.id ?? "", 1);
    const restarted = await until(
      "many",
      "restarted",
      ({ containerStatuses }) => containerStatuses?.[0]?.restartCount === 1,
    );
    assert.equal(restarted.status?.containerStatuses?.[0]?.lastState?.terminated?.exitCode, 1);
  });

  test("a resize through the API is carried out, and its conditions come and go", async () => {
    const sized = (cpu: string) => ({ requests: { cpu, memory: "64Mi" }, limits: { cpu, memory: "64Mi" } });
    await create("sized", { containers: [{ name: "web", image: "web:1", resources: sized("1") }] });
    await until("sized", "ready", isReady);
    const ask = (cpu: string) =>
      admin.patch(
        Pod,
        key("sized"),
        "strategic",
        { spec: { containers: [{ name: "web", resources: sized(cpu) }] } },
        { subresource: "resize" },
      );
    const pending = (status: PodStatus) => status.conditions?.find(({ type }) => type === "PodResizePending");
    await ask("2");
    const grown = await until(
      "sized",
      "resized",
      ({ containerStatuses }) => containerStatuses?.[0]?.resources?.limits?.cpu === "2",
    );
    assert.equal(grown.status?.containerStatuses?.[0]?.restartCount, 0);
    await ask("500");
    await until("sized", "infeasible", (status) => pending(status)?.reason === "Infeasible");
    await ask("2");
    await until("sized", "no longer pending", (status) => pending(status) === undefined);
  });

  test("conditions that others write stay, and count as readiness gates", async () => {
    await create("gated", { readinessGates: [{ conditionType: "example.com/open" }] });
    await until("gated", "not ready for its gate", (status) =>
      status.conditions?.some(({ type, reason }) => type === "Ready" && reason === "ReadinessGatesNotReady"),
    );
    const conditions = [{ type: "example.com/open", status: "True" }];
    await admin.patch(Pod, key("gated"), "strategic", { status: { conditions } }, { subresource: "status" });
    const pod = await until("gated", "ready", isReady);
    assert.ok(pod.status?.conditions?.some(({ type, status }) => type === "example.com/open" && status === "True"));
  });

  test("what ended while the API was away is told when it is back", async () => {
    const { metadata } = await create("away", { restartPolicy: "Never" });
    await until("away", "ready", isReady);
    const server = site.site.process("kube-apiserver");
    await server.kill();
    runtime.exit(runtime.running("web", metadata.uid)?.id ?? "", 7);
    await waitFor(() => life.manager.pod({ namespace: "default", pod: "away" })?.status?.phase === "Failed");
    await server.start();
    const pod = await until("away", "failed", ({ phase }) => phase === "Failed");
    assert.equal(pod.status?.containerStatuses?.[0]?.state?.terminated?.exitCode, 7);
    await admin.delete(Pod, key("away"), { gracePeriodSeconds: 5 });
    await untilGone("away");
  });

  test("a restart of the node changes nothing for pods that run, and ends those deleted meanwhile", async () => {
    const stays = await create("stays");
    const goes = await create("goes");
    await until("stays", "ready", isReady);
    await until("goes", "ready", isReady);
    const id = runtime.running("web", stays.metadata.uid)?.id;
    const { resourceVersion } = (await admin.get(Pod, key("stays"))).metadata;
    await life[Symbol.asyncDispose]();
    await admin.delete(Pod, key("goes"), { gracePeriodSeconds: 0 });
    life = await Life.begin(await nodeClient(), directory, runtime);
    await waitFor(() => !runtime.sandboxes.some(({ pod }) => pod.uid === goes.metadata.uid));
    assert.equal(runtime.running("web", stays.metadata.uid)?.id, id);
    assert.equal((await admin.get(Pod, key("stays"))).metadata.resourceVersion, resourceVersion);
  });
});

async function waitFor(holds: () => boolean | Promise<boolean>): Promise<void> {
  for (const end = clock.now() + 60_000; !(await holds()); await sleep(clock, 30)) {
    assert.ok(clock.now() < end, "not within 60 s");
  }
}

/** One life of a node's process. */
class Life implements AsyncDisposable {
  readonly #stop = new AbortController();
  readonly #client: KubeClient;
  readonly #store: NodeStore;
  readonly #runs: Promise<void>[];
  readonly manager: PodManager;

  private constructor(client: KubeClient, store: NodeStore, stateDirectory: string, runtime: FakeRuntime) {
    const shared = { client, clock, random: seededRandom(1), logger };
    const source = new ApiPodSource({ ...shared, store, nodeName });
    const objects = new ApiPodObjects({ ...shared, store });
    const events = new EventRecorder({ ...shared, component: "kubelet", instance: nodeName });
    this.manager = new PodManager({
      ...shared,
      source,
      objects,
      volumes: new FakeApi().volumes,
      events,
      runtimes: [runtime],
      runtimeOf: () => runtime,
      // Longer than these tests wait: what they see, they see because the runtime has told of it.
      relistMs: 3_600_000,
      settings: {
        nodeName,
        hostIPs: ["192.0.2.1"],
        stateDirectory,
        clusterDns: [],
        clusterDomain: "cluster.local",
        cgroupRoot: "",
        memoryCapacity: 2 ** 33,
        allocatable: { cpu: 100_000, memory: 2 ** 33, pods: 110 },
      },
    });
    this.#client = client;
    this.#store = store;
    this.#runs = [source, objects, events, this.manager].map((part) => part.run(this.#stop.signal));
  }

  static async begin(client: KubeClient, directory: string, runtime: FakeRuntime): Promise<Life> {
    const store = await NodeStore.open({ file: join(directory, "node.db"), clock, logger });
    return new Life(client, store, directory, runtime);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stop.abort();
    await Promise.all(this.#runs);
    await this.#client.close();
    this.#store[Symbol.dispose]();
  }
}
