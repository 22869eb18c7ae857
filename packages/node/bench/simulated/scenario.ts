import { setTimeout as pause } from "node:timers/promises";
import { KubeClient, Namespace, Node, Pod, ServiceAccount } from "@fjord/kube";
import type { ManagedProcess, Site } from "@fjord/testbed";
import { cpuSeconds } from "@fjord/testbed/bench";
import { startTestSite } from "@fjord/testbed/testing";
import { Phase } from "./phase.ts";
import type { Simulator } from "./simulators.ts";

export interface Size {
  readonly nodes: number;
  readonly pods: number;
}

export interface Outcome extends Size {
  readonly registerSeconds: number;
  readonly runSeconds: number;
  /** How many were deleted, and how long that took. */
  readonly deleted: number;
  readonly deleteSeconds: number;
  /** Of the simulator, while pods are created and begin to run, and while they are deleted. */
  readonly runCpuSeconds: number;
  readonly deleteCpuSeconds: number;
  readonly restCpuShare: number;
  readonly residentBytes: number;
}

export interface ScenarioOptions {
  readonly simulator: Simulator;
  readonly size: Size;
  readonly signal: AbortSignal;
  readonly progress: (text: string) => void;
}

const NAMESPACE = "bench";
/** Of the pods that are deleted: whether any is left can then be asked for cheaply. */
const DELETED_NAMESPACE = "bench-deleted";
/** A rate is known after so many, and the rest ends with the control plane. */
const MOST_DELETED = 10_000;
const AT_ONCE = 32;
const REST_SECONDS = 20;

/** Nodes come, pods are created, run, rest and are deleted: on a control plane of their own. */
export async function playScenario({ simulator, size, signal, progress }: ScenarioOptions): Promise<Outcome> {
  await using test = await startTestSite({ components: "all" });
  await adapt(test.site);
  await using client = new KubeClient(test.config, { connections: AT_ONCE });
  await prepare(client, signal);
  const child = await simulator.start(test.site);
  await pause(3_000);
  const { nodes, pods } = size;
  const deleted = Math.min(pods, MOST_DELETED);
  const watched = (what: string, count: number) => new Phase({ what, count, child, signal, progress });
  const registered = await watched("nodes Ready", nodes).run(async (phase) => {
    await simulator.addNodes(test.site, client, nodes, child);
    await phase.until(async () => (await readyNodes(client)) >= nodes);
  });
  const ran = await watched("pods Running", pods).run(async (phase) => {
    await phase.ask((index) =>
      client.create(Pod, benchPod(index, index < deleted, `${simulator.prefix}-${1 + (index % nodes)}`)),
    );
    await phase.until(async () => !(await hasPods(client, { fieldSelector: "status.phase!=Running" })));
  });
  const rest = await observeRest(child, signal);
  progress(`at rest: ${(rest.residentBytes / 1e6).toFixed(0)} MB, ${(rest.restCpuShare * 100).toFixed(1)} % of a core`);
  const gone = await watched("pods deleted", deleted).run(async (phase) => {
    await phase.ask((index) => client.delete(Pod, { name: podName(index), namespace: DELETED_NAMESPACE }));
    await phase.until(async () => !(await hasPods(client, { namespace: DELETED_NAMESPACE })));
  });
  return {
    ...size,
    ...rest,
    deleted,
    registerSeconds: registered.seconds,
    runSeconds: ran.seconds,
    deleteSeconds: gone.seconds,
    runCpuSeconds: ran.cpuSeconds,
    deleteCpuSeconds: gone.cpuSeconds,
  };
}

/** Settings for thousands of nodes: nothing queues requests, and no ranges are given out that there are not enough of. */
async function adapt(site: Site): Promise<void> {
  const changes: Record<string, (args: readonly string[]) => string[]> = {
    "kube-apiserver": (args) => [...args, "--enable-priority-and-fairness=false"],
    "kube-controller-manager": (args) => args.map((arg) => arg.replace("node-cidrs=true", "node-cidrs=false")),
  };
  for (const [name, change] of Object.entries(changes)) {
    const old = site.process(name);
    await old.stop();
    const { site: _, log: __, identity: ___, args, ...record } = old.record;
    site.removeProcess(name);
    await site.addProcess({ ...record, args: change(args) }).start();
  }
}

async function prepare(client: KubeClient, signal: AbortSignal): Promise<void> {
  const isUp = async () => {
    try {
      await client.list(Namespace);
      return true;
    } catch {
      // Not yet: it was started a moment ago.
      return false;
    }
  };
  while (!(await isUp())) {
    signal.throwIfAborted();
    await pause(200);
  }
  for (const namespace of [NAMESPACE, DELETED_NAMESPACE]) {
    await client.create(Namespace, { apiVersion: "v1", kind: "Namespace", metadata: { name: namespace } });
    const account = { apiVersion: "v1", kind: "ServiceAccount", metadata: { name: "default", namespace } };
    // The controller manager may have been quicker.
    await client.create(ServiceAccount, account as ServiceAccount).catch(() => {});
  }
}

async function readyNodes(client: KubeClient): Promise<number> {
  const { items } = await client.list(Node, { omitManagedFields: true });
  return items.filter(({ status }) =>
    status?.conditions?.some(({ type, status: value }) => type === "Ready" && value === "True"),
  ).length;
}

/** Looks at one of them, so that looking costs little. */
async function hasPods(client: KubeClient, scope: { fieldSelector?: string; namespace?: string }): Promise<boolean> {
  const { items } = await client.list(Pod, { ...scope, limit: 1 });
  return items.length > 0;
}

async function observeRest(
  child: ManagedProcess,
  signal: AbortSignal,
): Promise<Pick<Outcome, "restCpuShare" | "residentBytes">> {
  const pid = child.pid ?? 0;
  // Both have had the time to tidy up.
  await pause(12_000);
  const before = cpuSeconds(pid);
  let residentBytes = Number.POSITIVE_INFINITY;
  for (let second = 0; second < REST_SECONDS; second++) {
    signal.throwIfAborted();
    await pause(1_000);
    residentBytes = Math.min(residentBytes, child.memory);
  }
  return { restCpuShare: (cpuSeconds(pid) - before) / REST_SECONDS, residentBytes };
}

function podName(index: number): string {
  return `web-7c9f8d6b5-${index.toString(36).padStart(5, "0")}`;
}

/** A pod of a Deployment, as large as such pods are. */
function benchPod(index: number, isDeleted: boolean, nodeName: string): Pod {
  return {
    apiVersion: "v1",
    kind: "Pod",
    metadata: {
      name: podName(index),
      namespace: isDeleted ? DELETED_NAMESPACE : NAMESPACE,
      labels: { app: "web", tier: "frontend", "pod-template-hash": "7c9f8d6b5" },
      annotations: { "example.com/build": `build-${index % 100}`, "prometheus.io/scrape": "true" },
    },
    spec: {
      nodeName,
      terminationGracePeriodSeconds: 30,
      containers: [
        {
          name: "web",
          image: "registry.example.com/shop/web:1.27.3",
          args: ["--listen=:8080", "--log-format=json"],
          ports: [{ name: "http", containerPort: 8080 }],
          env: [
            { name: "POD_NAME", valueFrom: { fieldRef: { fieldPath: "metadata.name" } } },
            { name: "REGION", value: "eu-north-1" },
          ],
          resources: { requests: { cpu: "100m", memory: "128Mi" }, limits: { memory: "256Mi" } },
        },
      ],
    },
  };
}
