import { silentLogger, systemClock } from "@fjord/base";
import { EndpointSlice, type KubeClient, SharedCaches } from "@fjord/kube";

/** Which endpoints of a Service were ready from a moment on, by address. */
export interface ReadyAt {
  readonly at: number;
  readonly ready: readonly string[];
}

/** Where a site leads those who ask for a Service, from moment to moment, as long as a test runs. */
export class ReadyEndpoints implements AsyncDisposable {
  readonly #client: KubeClient;
  readonly #stop = new AbortController();
  readonly #running: Promise<void>;
  readonly #seen: ReadyAt[] = [];

  /** Closes the client in the end. */
  constructor(client: KubeClient, namespace: string, service: string) {
    this.#client = client;
    const caches = new SharedCaches({ client, clock: systemClock, random: Math.random, logger: silentLogger });
    const labelSelector = `kubernetes.io/service-name=${service}`;
    const slices = caches.open(EndpointSlice, { namespace, labelSelector }).cache;
    const look = () => this.#look(slices.list());
    slices.addHandler({ onAdd: look, onUpdate: look, onDelete: look });
    this.#running = caches.run(this.#stop.signal);
  }

  get seen(): readonly ReadyAt[] {
    return this.#seen;
  }

  #look(slices: readonly EndpointSlice[]): void {
    const isReady = ({ conditions }: { conditions?: { ready?: boolean } }) => conditions?.ready !== false;
    const endpoints = slices.flatMap((slice) => (slice.endpoints ?? []).filter(isReady));
    const ready = [...new Set(endpoints.flatMap(({ addresses }) => addresses))].sort();
    if (this.#seen.at(-1)?.ready.join() !== ready.join()) this.#seen.push({ at: Date.now(), ready });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stop.abort();
    await this.#running;
    await this.#client.close();
  }
}

/** Those that had left and were back before `until`, each with how long after `since` that was, in words. */
export function returned(seen: readonly ReadyAt[], since: number, until: number): string[] {
  const found: string[] = [];
  const left = new Set<string>();
  let before = seen.findLast(({ at }) => at <= since)?.ready ?? [];
  for (const { at, ready } of seen.filter((each) => each.at > since && each.at < until)) {
    for (const each of before) if (!ready.includes(each)) left.add(each);
    for (const each of ready)
      if (left.delete(each)) found.push(`${each} is back after ${((at - since) / 1000).toFixed(1)} s`);
    before = ready;
  }
  return found;
}

/** How long after `since` there were fewer than before; undefined where none was seen to leave, as where nothing is seen at all. */
export function fewerAfterMs(seen: readonly ReadyAt[], since: number): number | undefined {
  const before = seen.findLast(({ at }) => at <= since)?.ready.length ?? 0;
  const fewer = seen.find(({ at, ready }) => at > since && ready.length < before);
  return fewer && fewer.at - since;
}
