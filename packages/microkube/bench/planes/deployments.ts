import { setTimeout as pause } from "node:timers/promises";
import { Deployment, KubeClient, Namespace, Node, Pod } from "@fjord/kube";
import { type Plane, usageBetween } from "./plane.ts";
import { NAMESPACE } from "./requests.ts";

const REPLICAS = 3;
const NODES = 10;
const AT_ONCE = 64;
const LONGEST_MS = 300_000;

export interface DeploymentsOutcome {
  /** From the first request until the status of every Deployment says that all its pods are ready. */
  readonly readySeconds: number;
  readonly usage: ReadonlyMap<string, number>;
}

/** Deployments all at once on simulated nodes: on a control plane that was just started, and again when they are gone. */
export async function playDeployments(plane: Plane, count: number, signal: AbortSignal): Promise<DeploymentsOutcome[]> {
  const limit = AbortSignal.any([signal, AbortSignal.timeout(LONGEST_MS)]);
  await using client = new KubeClient(plane.site.config, { connections: AT_ONCE });
  await plane.startNodes(NODES);
  while ((await usableNodes(client)) < NODES) await pause(100, undefined, { signal: limit });
  await client.create(Namespace, { apiVersion: "v1", kind: "Namespace", metadata: { name: NAMESPACE } });
  // The service account of the namespace, and whatever else begins with new nodes.
  await plane.settle(limit);
  const outcomes: DeploymentsOutcome[] = [];
  for (const name of ["first", "again"]) {
    outcomes.push(await untilReady(plane, client, name, count, limit));
    await remove(client, name, count, limit);
  }
  return outcomes;
}

async function untilReady(
  plane: Plane,
  client: KubeClient,
  prefix: string,
  count: number,
  signal: AbortSignal,
): Promise<DeploymentsOutcome> {
  const stop = new AbortController();
  const { metadata } = await client.list(Deployment, { namespace: NAMESPACE, signal });
  const following = allReady(client, metadata.resourceVersion ?? "0", count, AbortSignal.any([signal, stop.signal]));
  const before = plane.usage();
  const began = performance.now();
  const asked = Array.from({ length: count }, (_, i) =>
    client.create(Deployment, deployment(`${prefix}-${i}`), { signal }),
  );
  try {
    const [readyAt] = await Promise.all([following, ...asked]);
    return { readySeconds: (readyAt - began) / 1000, usage: usageBetween(before, plane.usage()) };
  } finally {
    stop.abort();
  }
}

async function allReady(client: KubeClient, resourceVersion: string, count: number, signal: AbortSignal) {
  const ready = new Set<string>();
  for await (const { type, object } of client.watch(Deployment, { namespace: NAMESPACE, resourceVersion, signal })) {
    if (type !== "BOOKMARK" && object.status?.readyReplicas === REPLICAS) ready.add(object.metadata.name ?? "");
    if (ready.size === count) return performance.now();
  }
  throw new Error(`the watch has ended with ${ready.size} of ${count} Deployments ready`);
}

async function remove(client: KubeClient, prefix: string, count: number, signal: AbortSignal): Promise<void> {
  const gone = Array.from({ length: count }, (_, i) =>
    client.delete(
      Deployment,
      { name: `${prefix}-${i}`, namespace: NAMESPACE },
      { propagationPolicy: "Background", signal },
    ),
  );
  await Promise.all(gone);
  while ((await client.list(Pod, { namespace: NAMESPACE, limit: 1, signal })).items.length > 0)
    await pause(200, undefined, { signal });
  await pause(1_000, undefined, { signal });
}

async function usableNodes(client: KubeClient): Promise<number> {
  const { items } = await client.list(Node);
  return items.filter(
    ({ spec, status }) =>
      !spec?.taints?.length &&
      status?.conditions?.some(({ type, status: value }) => type === "Ready" && value === "True"),
  ).length;
}

function deployment(name: string): Deployment {
  const labels = { app: name };
  return {
    apiVersion: "apps/v1",
    kind: "Deployment",
    metadata: { name, namespace: NAMESPACE },
    spec: {
      replicas: REPLICAS,
      selector: { matchLabels: labels },
      template: {
        metadata: { labels },
        spec: {
          terminationGracePeriodSeconds: 0,
          containers: [{ name: "main", image: "busybox:1", resources: { requests: { cpu: "10m", memory: "16Mi" } } }],
        },
      },
    },
  };
}
