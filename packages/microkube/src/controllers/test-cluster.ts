import { describeError, type Logger, silentLogger, systemClock } from "@fjord/base";
import {
  EventRecorder,
  isNotFound,
  KubeClient,
  Lease,
  Manager,
  Node,
  Pod,
  requestFor,
  SharedCaches,
  selectsNode,
} from "@fjord/kube";
import { startTestSite } from "@fjord/testbed/testing";
import type { ControlLoop } from "./control-loop.ts";
import { serviceAccountController } from "./namespace/service-account-controller.ts";
import { timestamp } from "./workload/pod-state.ts";

export interface TestClusterOptions {
  readonly loops: readonly ControlLoop[];
  /** Nodes that the cluster has; pods are bound to them and become ready at once. @default 2 */
  readonly nodes?: number;
  readonly logger?: Logger;
}

export interface TestCluster extends AsyncDisposable {
  readonly client: KubeClient;
  readonly kubeconfig: string;
  /** While false, pods are bound and stay as they are. */
  playing: boolean;
  /** Waits until `look` gives something, and gives it. */
  until<T>(what: string, look: () => Promise<T | undefined | false>, timeoutMs?: number): Promise<T>;
}

/** A real API server without controllers of its own, the given loops, and a scheduler and kubelet played by the test. */
export async function startTestCluster(options: TestClusterOptions): Promise<TestCluster> {
  const { loops, nodes = 2, logger = silentLogger } = options;
  const site = await startTestSite();
  const client = new KubeClient(site.config);
  const means = { client, clock: systemClock, random: Math.random, logger };
  const caches = new SharedCaches(means);
  const recorder = new EventRecorder({ ...means, component: "test" });
  const manager = new Manager(means);
  for (const loop of [serviceAccountController, ...loops]) manager.add(loop({ ...means, caches, recorder }));
  const pods = caches.open(Pod).cache;
  manager.addCache(caches).add(recorder);
  const names = Array.from({ length: nodes }, (_, i) => `node-${i + 1}`);
  for (const name of names) await client.create(Node, forgeNode(name));
  // Nodes that are silent for long are lost, and a slow machine takes that long.
  const renew = (name: string) => client.apply(Lease, forgeLease(name), { fieldManager: "test" }).catch(() => {});
  const beat = setInterval(() => void names.map(renew), 5_000);
  const stop = new AbortController();
  const running = manager.run(stop.signal);
  const cluster: TestCluster = {
    client,
    kubeconfig: site.kubeconfig,
    playing: true,
    async until(what, look, timeoutMs = 60_000) {
      const end = Date.now() + timeoutMs;
      for (;;) {
        const found = await look();
        if (found !== undefined && found !== false) return found;
        if (Date.now() > end) throw new Error(`waited for ${what} in vain`);
        await new Promise((resolve) => setTimeout(resolve, 50));
      }
    },
    async [Symbol.asyncDispose]() {
      clearInterval(beat);
      stop.abort();
      await running;
      await client.close();
      await site.stop();
    },
  };
  let turn = 0;
  const play = (pod: Pod) =>
    playKubelet(client, pod, () => cluster.playing && nodes > 0, `node-${(turn++ % nodes) + 1}`).catch((error) => {
      if (!isNotFound(error) && !stop.signal.aborted)
        logger.error("the played kubelet failed", { error: describeError(error) });
    });
  pods.addHandler({ onAdd: play, onUpdate: (_, pod) => play(pod) });
  return cluster;
}

async function playKubelet(client: KubeClient, pod: Pod, isPlaying: () => boolean, node: string): Promise<void> {
  const key = requestFor(pod);
  if (!isPlaying()) return;
  if (pod.metadata.deletionTimestamp !== undefined) {
    if (pod.metadata.finalizers?.length) return;
    return await client.delete(Pod, key, { gracePeriodSeconds: 0, preconditions: { uid: pod.metadata.uid } });
  }
  if (!pod.spec?.nodeName) {
    if (pod.spec?.schedulingGates?.length) return;
    const wanted = ["node-1", "node-2", "node-3"].find((name) => selectsNode(pod, { name, labels: {} }));
    const target = pod.spec?.affinity?.nodeAffinity ? (wanted ?? node) : node;
    return await client.bind(key, target).catch(() => {});
  }
  if ((pod.status?.phase ?? "Pending") !== "Pending") return;
  const lastTransitionTime = timestamp(Date.now());
  const status = {
    phase: "Running",
    podIP: `10.0.${Math.floor(Math.random() * 250)}.${Math.floor(Math.random() * 250) + 1}`,
    startTime: lastTransitionTime,
    conditions: ["Ready", "ContainersReady", "Initialized", "PodScheduled"].map((type) => ({
      type,
      status: "True",
      lastTransitionTime,
    })),
  };
  await client.patch(Pod, key, "merge", { status }, { subresource: "status" });
}

function forgeLease(name: string): Lease {
  const renewTime = new Date().toISOString().replace("Z", "000Z");
  const spec = { holderIdentity: name, leaseDurationSeconds: 40, renewTime };
  return {
    apiVersion: "coordination.k8s.io/v1",
    kind: "Lease",
    metadata: { name, namespace: "kube-node-lease" },
    spec,
  };
}

function forgeNode(name: string): Node {
  const resources = { cpu: "8", memory: "16Gi", pods: "110" };
  return {
    apiVersion: "v1",
    kind: "Node",
    metadata: { name, labels: { "kubernetes.io/hostname": name } },
    status: {
      allocatable: resources,
      capacity: resources,
      conditions: [{ type: "Ready", status: "True", lastTransitionTime: timestamp(Date.now()) }],
    },
  } as Node;
}
