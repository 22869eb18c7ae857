import { KubeClient, Namespace, Pod, ServiceAccount } from "@fjord/kube";
import { Load, type LoadOutcome, type Share } from "./load.ts";
import { type Plane, usageBetween } from "./plane.ts";
import { NAMESPACE, WATCHED_NAMESPACE } from "./requests.ts";
import type { Settings } from "./settings.ts";

/** Processes that ask; one more writes what watchers are told of. */
const LOAD_PROCESSES = 2;
const CREATES_AT_ONCE = 32;
const GETS_AT_ONCE = 32;
const WATCHED_WRITES_AT_ONCE = 8;
const LISTS_AT_ONCE = 4;

export interface ApiWork {
  readonly what: "create" | "get" | "list" | "watch";
  /** Pods in the store when it ended. */
  readonly pods: number;
  readonly perSecond: number;
  readonly usage: ReadonlyMap<string, number>;
}

export interface VisitOptions {
  readonly plane: Plane;
  readonly settings: Settings;
  readonly signal: AbortSignal;
  /** Told of what was done in a second. Without it pods are created, and no more. */
  readonly worked?: (work: ApiWork) => void;
  /** Told of the memory with so many pods in the store. Without it nothing rests. */
  readonly rested?: (pods: number, bytes: number) => void;
}

/**
 * On a control plane that was just started: pods are created, read, listed and watched, or memory is looked at. Both at
 * once would show what is left of the work before.
 */
export async function visit({ plane, settings, signal, worked, rested }: VisitOptions): Promise<void> {
  const { restSeconds, pods: sizes, listedPods, gets, watchers, watchedWrites } = settings;
  const rest = async (pods: number) => rested?.(pods, await plane.memory(restSeconds, signal));
  await plane.settle(signal);
  if (rested) await rest(0);
  using load = new Load(plane.target, LOAD_PROCESSES + 1);
  await using client = new KubeClient(plane.site.config);
  await prepareNamespaces(client);
  const work = async (what: ApiWork["what"], pods: number, count: number, shares: readonly Share[]) => {
    const before = plane.usage();
    const { seconds, cpuSeconds }: LoadOutcome = await load.run(shares, signal);
    const usage = usageBetween(before, plane.usage()).set("load", cpuSeconds);
    worked?.({ what, pods, perSecond: count / seconds, usage });
  };
  let pods = 0;
  for (const size of sizes) {
    await work("create", size, size - pods, creates(pods, size));
    pods = size;
    await expectPods(client, pods);
    if (rested) await rest(pods);
    if (!worked) continue;
    const lists = Math.max(6, Math.round(listedPods / pods));
    await work(
      "list",
      pods,
      lists,
      split(lists, LISTS_AT_ONCE, (_, count) => ({ kind: "list", count })),
    );
    const isLast = pods === sizes.at(-1);
    if (!isLast) continue;
    await work(
      "get",
      pods,
      gets,
      split(gets, GETS_AT_ONCE, (_, count) => ({ kind: "get", count, pods: size })),
    );
    const told = split(watchers, LOAD_PROCESSES, (_, count) => ({
      kind: "watch",
      watchers: count,
      writes: watchedWrites,
    }));
    const writes = { kind: "create", namespace: WATCHED_NAMESPACE, first: 0, count: watchedWrites } as const;
    const shares = [...told, { job: writes, connections: WATCHED_WRITES_AT_ONCE }];
    await work("watch", pods, watchers * watchedWrites, shares);
  }
}

export interface CrowdOutcome {
  /** Of all processes, for each watcher more. */
  readonly bytesEach: number;
  readonly eventsPerSecond: number;
  readonly usage: ReadonlyMap<string, number>;
}

/** On a control plane that was just started: many watch the same, each on a connection of its own. */
export async function visitByCrowd({ plane, settings, signal }: VisitOptions): Promise<CrowdOutcome> {
  const { crowd, crowdWrites: writes, restSeconds } = settings;
  await plane.settle(signal);
  using load = new Load(plane.target, LOAD_PROCESSES + 1);
  await using client = new KubeClient(plane.site.config);
  await prepareNamespaces(client);
  const empty = await plane.memory(restSeconds, signal);
  const told = split(crowd, LOAD_PROCESSES, (_, watchers) => ({ kind: "watch", watchers, writes }));
  const creates = { kind: "create", namespace: WATCHED_NAMESPACE, first: 0, count: writes } as const;
  let crowded = 0;
  let before = plane.usage();
  const { seconds, cpuSeconds } = await load.run([...told, { job: creates, connections: 1 }], signal, async () => {
    crowded = await plane.memory(restSeconds, signal);
    before = plane.usage();
  });
  const usage = usageBetween(before, plane.usage()).set("load", cpuSeconds);
  return { bytesEach: (crowded - empty) / crowd, eventsPerSecond: (crowd * writes) / seconds, usage };
}

function creates(from: number, to: number): Share[] {
  return split(to - from, CREATES_AT_ONCE, (first, count) => ({
    kind: "create",
    namespace: NAMESPACE,
    first: from + first,
    count,
  }));
}

/** Even shares for the processes of load. */
function split(count: number, atOnce: number, job: (first: number, count: number) => Share["job"]): Share[] {
  const bounds = Array.from({ length: LOAD_PROCESSES + 1 }, (_, i) => Math.round((count * i) / LOAD_PROCESSES));
  return bounds.slice(1).map((end, i) => {
    const first = bounds[i] as number;
    return { job: job(first, end - first), connections: Math.ceil(atOnce / LOAD_PROCESSES) };
  });
}

async function prepareNamespaces(client: KubeClient): Promise<void> {
  for (const name of [NAMESPACE, WATCHED_NAMESPACE]) {
    await client.create(Namespace, { apiVersion: "v1", kind: "Namespace", metadata: { name } });
    const metadata = { name: "default", namespace: name };
    // Where there is a controller for it, that may have been quicker.
    await client.create(ServiceAccount, { apiVersion: "v1", kind: "ServiceAccount", metadata }).catch(() => {});
  }
}

/** A server that only said so would be fast. */
async function expectPods(client: KubeClient, count: number): Promise<void> {
  const { items } = await client.list(Pod, { namespace: NAMESPACE, omitManagedFields: true });
  if (items.length !== count) throw new Error(`${items.length} pods are there, not ${count}`);
}
