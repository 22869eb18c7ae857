import { setTimeout as pause } from "node:timers/promises";
import { KubeClient, Namespace, Pod, RuntimeClass, ServiceAccount } from "@fjord/kube";
import type { ManagedProcess } from "@fjord/testbed";
import { cpuSeconds } from "@fjord/testbed/bench";
import { startTestBed, testNodes } from "@fjord/testbed/testing";
import { inParallel } from "../simulated/in-parallel.ts";

/** Who runs pods, and by what: process pods are Fjord's alone. */
export interface Subject {
  readonly kubelet: "fjord" | "kubernetes";
  readonly runtime: "cri" | "process";
  /** Bundle of Fjord's node. */
  readonly program: string;
}

export interface Outcome {
  /** From the first create until all are Ready. */
  readonly readySeconds: number;
  /** Processor time of the node alone meanwhile. */
  readonly startCpuSeconds: number;
  /** Resident memory before any pod of the benchmark, and with all of them running. */
  readonly restBytes: number;
  readonly loadedBytes: number;
  /** Share of a processor with all pods running. */
  readonly loadedCpuShare: number;
}

export interface ScenarioOptions {
  readonly subject: Subject;
  readonly pods: number;
  readonly signal: AbortSignal;
  readonly progress: (text: string) => void;
}

const NAMESPACE = "bench";
const AT_ONCE = 20;
/** Until what a start leaves behind is settled. */
const SETTLE_SECONDS = 15;
const REST_SECONDS = 30;
const READY_TIMEOUT = 300_000;

/** A node at rest, with pods starting, and with pods running: on a control plane and a containerd of their own. */
export async function playScenario({ subject, pods, signal, progress }: ScenarioOptions): Promise<Outcome> {
  const { kubelet, program, runtime } = subject;
  const provider = testNodes({ kubelet, ...(kubelet === "fjord" && { fjordProgram: program }) });
  const bed = await startTestBed({ sites: 1, nodes: { count: 1, provider }, signal });
  try {
    const [site] = bed.sites;
    const [node] = site === undefined ? [] : provider.nodes(site);
    if (site === undefined || node === undefined) throw new Error("the test bed has no node");
    const child = node.process("kubelet");
    await using client = new KubeClient(site.config, { connections: AT_ONCE });
    await prepare(client, runtime, signal);
    await pause(SETTLE_SECONDS * 1000, undefined, { signal });
    const restBytes = (await rest(child, 5, signal)).residentBytes;
    const before = cpuSeconds(child.pid ?? 0);
    const began = performance.now();
    await inParallel(pods, AT_ONCE, (index) => client.create(Pod, benchPod(index, node.name, runtime), { signal }));
    while ((await readyPods(client, signal)) < pods) {
      if (!child.running) throw new Error(`${child.name} has ended: ${child.logTail(5)}`);
      if (performance.now() - began > READY_TIMEOUT) throw new Error("the pods do not become Ready");
      await pause(200, undefined, { signal });
    }
    const readySeconds = (performance.now() - began) / 1000;
    const startCpuSeconds = cpuSeconds(child.pid ?? 0) - before;
    await pause(SETTLE_SECONDS * 1000, undefined, { signal });
    const { residentBytes: loadedBytes, cpuShare: loadedCpuShare } = await rest(child, REST_SECONDS, signal);
    const megabytes = [restBytes, loadedBytes].map((bytes) => (bytes / 1e6).toFixed(1)).join(" MB, then ");
    progress(`${kubelet}, ${runtime}: ${pods} pods Ready after ${readySeconds.toFixed(1)} s; ${megabytes} MB`);
    return { readySeconds, startCpuSeconds, restBytes, loadedBytes, loadedCpuShare };
  } finally {
    await bed.stop();
  }
}

async function prepare(client: KubeClient, runtime: Subject["runtime"], signal: AbortSignal): Promise<void> {
  await client.create(Namespace, { apiVersion: "v1", kind: "Namespace", metadata: { name: NAMESPACE } });
  if (runtime === "process") {
    const metadata = { name: "process" };
    await client.create(RuntimeClass, {
      apiVersion: "node.k8s.io/v1",
      kind: "RuntimeClass",
      metadata,
      handler: "process",
    });
  }
  while ((await client.list(ServiceAccount, { namespace: NAMESPACE, signal })).items.length === 0) {
    await pause(100, undefined, { signal });
  }
}

/** Of one second after the other: the middle one's memory, and the use of the processor over all. */
async function rest(child: ManagedProcess, seconds: number, signal: AbortSignal) {
  const before = cpuSeconds(child.pid ?? 0);
  const sizes: number[] = [];
  for (let second = 0; second < seconds; second++) {
    await pause(1000, undefined, { signal });
    sizes.push(child.memory);
  }
  const residentBytes = sizes.toSorted((a, b) => a - b)[Math.floor(sizes.length / 2)] ?? 0;
  return { residentBytes, cpuShare: (cpuSeconds(child.pid ?? 0) - before) / seconds };
}

async function readyPods(client: KubeClient, signal: AbortSignal): Promise<number> {
  const { items } = await client.list(Pod, { namespace: NAMESPACE, omitManagedFields: true, signal });
  const isReady = ({ status }: Pod) =>
    status?.conditions?.some(({ type, status: value }) => type === "Ready" && value === "True");
  return items.filter(isReady).length;
}

function benchPod(index: number, nodeName: string, runtime: Subject["runtime"]): Pod {
  return {
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name: `pod-${index}`, namespace: NAMESPACE },
    spec: {
      nodeName,
      ...(runtime === "process" && { runtimeClassName: "process" }),
      containers: [
        { name: "main", image: "busybox:1", imagePullPolicy: "IfNotPresent", command: ["sleep", "infinity"] },
      ],
    },
  };
}
