import { setTimeout as pause } from "node:timers/promises";
import { Deployment, type KubeClient, Pod } from "@fjord/kube";
import { NAMESPACE, type Place, usage } from "./place.ts";
import { PodWatch } from "./pod-watch.ts";

export interface Burst {
  readonly deployments: number;
  readonly replicas: number;
  /** Deployments a second; absent: all at once. */
  readonly perSecond?: number;
}

export interface BurstOutcome {
  /** From the first request until all pods are Ready as their owner sees it. */
  readonly readySeconds: number;
  /** From the first delete until no pod is left on either side. */
  readonly goneSeconds: number;
  /** Of all processes, from the first request until all is gone. */
  readonly cpuSeconds: number;
  readonly cpuByProcess: Readonly<Record<string, number>>;
  readonly requestsPerPod: number;
  /** Resident bytes of the agents when all pods were Ready, the largest of them. */
  readonly agentBytes: number;
  /** Milliseconds from each request to its pod being scheduled, and being Ready; in order of the requests. */
  readonly scheduledMs: readonly number[];
  readonly readyMs: readonly number[];
}

const LONGEST_MS = 900_000;
let rounds = 0;

/** Deployments come, become Ready, and go; `whenReady` in between. */
export async function playBurst(
  place: Place,
  burst: Burst,
  signal: AbortSignal,
  whenReady: () => Promise<void> = async () => {},
): Promise<BurstOutcome> {
  const { client, far, farNamespace } = place;
  const limit = AbortSignal.any([signal, AbortSignal.timeout(LONGEST_MS)]);
  const prefix = `r${++rounds}`;
  await using watch = new PodWatch(client, NAMESPACE);
  const requestsBefore = await place.requests.total();
  const cpuBefore = usage(place);
  const asked: number[] = [];
  const began = performance.now();
  const create = async (index: number) => {
    asked[index] = performance.now();
    await client.create(Deployment, deployment(`${prefix}-${index}`, burst.replicas), { signal: limit });
  };
  await eachInTurn(burst, began, create, limit);
  const pods = burst.deployments * burst.replicas;
  const ready = await watch.untilReady(pods, limit);
  const agentBytes = Math.max(0, ...place.agents.map(({ memory }) => memory));
  await whenReady();
  const deleting = performance.now();
  const remove = (index: number) =>
    client.delete(
      Deployment,
      { name: `${prefix}-${index}`, namespace: NAMESPACE },
      { propagationPolicy: "Background", signal: limit },
    );
  await eachInTurn({ ...burst, perSecond: undefined }, deleting, remove, limit);
  let gone = await watch.untilGone(limit);
  if (far !== client) {
    for (let left = await podsLeft(far, farNamespace, limit); left > 0; left = await podsLeft(far, farNamespace, limit))
      // None goes in less than a millisecond, and to ask is work for those who are measured.
      await pause(Math.min(Math.max(20, left), 1_000));
    gone = Math.max(gone, performance.now());
  }
  // What follows an end, such as events and statuses, belongs to the work.
  await pause(3_000);
  const cpuByProcess = difference(cpuBefore, usage(place));
  const requests = (await place.requests.total()) - requestsBefore;
  return {
    readySeconds: (ready - began) / 1000,
    goneSeconds: (gone - deleting) / 1000,
    cpuSeconds: Object.values(cpuByProcess).reduce((sum, each) => sum + each, 0),
    cpuByProcess,
    requestsPerPod: requests / pods,
    agentBytes,
    scheduledMs: latencies(watch.scheduled, asked, prefix),
    readyMs: latencies(watch.ready, asked, prefix),
  };
}

async function podsLeft(client: KubeClient, namespace: string, signal: AbortSignal): Promise<number> {
  const { items, metadata } = await client.list(Pod, { namespace, limit: 1, signal });
  return items.length + (metadata.remainingItemCount ?? 0);
}

async function eachInTurn(
  { deployments, perSecond }: Burst,
  began: number,
  act: (index: number) => Promise<unknown>,
  signal: AbortSignal,
): Promise<void> {
  const underWay: Promise<unknown>[] = [];
  for (let index = 0; index < deployments; index++) {
    if (perSecond !== undefined) {
      const due = began + (index * 1000) / perSecond - performance.now();
      if (due > 0) await pause(due, undefined, { signal });
    }
    underWay.push(act(index));
  }
  await Promise.all(underWay);
}

function latencies(seen: ReadonlyMap<string, number>, asked: readonly number[], prefix: string): number[] {
  return [...seen].flatMap(([pod, at]) => {
    const [round, index] = pod.split("-");
    return round === prefix ? [at - (asked[Number(index)] ?? Number.NaN)] : [];
  });
}

function difference(before: ReadonlyMap<string, number>, after: ReadonlyMap<string, number>): Record<string, number> {
  return Object.fromEntries([...after].map(([name, seconds]) => [name, seconds - (before.get(name) ?? 0)]));
}

function deployment(name: string, replicas: number): Deployment {
  const labels = { app: name };
  return {
    apiVersion: "apps/v1",
    kind: "Deployment",
    metadata: { name, namespace: NAMESPACE },
    spec: {
      replicas,
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
