import { Contract, Offloading, Peering, Site, VirtualNode } from "@fjord/api";
import { type Clock, type Kind, type KubeObject, type Logger, type Random, sleep } from "@fjord/base";
import {
  type Cache,
  CoreEvent,
  DaemonSet,
  Deployment,
  Job,
  type KubeClient,
  Node,
  Pod,
  SharedCaches,
  StatefulSet,
} from "@fjord/kube";
import { type Picture, pictureOf } from "./model/picture.ts";
import type { Workload } from "./model/world.ts";
import { trimForPage } from "./trim.ts";

export interface CollectorOptions {
  readonly client: KubeClient;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
}

/** How long what was collected is kept current after the last one has looked away: a reload finds it. */
const LINGER_MS = 20_000;

interface Collected {
  readonly stop: AbortController;
  readonly done: Promise<void>;
  readonly synced: Promise<void>;
  readonly picture: () => Picture;
}

/** What the page is made of, kept current only while somebody looks. */
export class Collector {
  readonly #options: CollectorOptions;
  readonly #listeners = new Set<() => void>();
  #collected: Collected | undefined;
  #cancelStop: () => void = () => {};
  #dirty = true;
  #picture: Picture | undefined;

  constructor(options: CollectorOptions) {
    this.#options = options;
  }

  get watchers(): number {
    return this.#listeners.size;
  }

  /** Calls `changed` after each change, until the function returned is called. */
  watch(changed: () => void): () => void {
    const listener = () => changed();
    this.#listeners.add(listener);
    this.#cancelStop();
    this.#collected ??= this.#begin();
    return () => {
      this.#listeners.delete(listener);
      if (this.#listeners.size === 0) this.#cancelStop = this.#options.clock.after(LINGER_MS, () => void this.stop());
    };
  }

  /** Everything as it is now; waits for it the first time, though for no kind longer than a moment. */
  async picture(signal: AbortSignal): Promise<Picture> {
    const collected = this.#collected ?? this.#begin();
    this.#collected = collected;
    await Promise.race([collected.synced, sleep(this.#options.clock, 5_000, signal)]);
    signal.throwIfAborted();
    if (this.#dirty || this.#picture === undefined) {
      this.#dirty = false;
      this.#picture = collected.picture();
    }
    return this.#picture;
  }

  async stop(): Promise<void> {
    this.#cancelStop();
    const collected = this.#collected;
    this.#collected = undefined;
    this.#picture = undefined;
    this.#dirty = true;
    collected?.stop.abort();
    await collected?.done;
  }

  #begin(): Collected {
    const caches = new SharedCaches({ ...this.#options, transform: trimForPage });
    const stop = new AbortController();
    const changed = () => {
      this.#dirty = true;
      for (const listener of this.#listeners) listener();
    };
    const open = <T extends KubeObject>(kind: Kind<T>): Cache<T> => {
      const { cache } = caches.open(kind);
      cache.addHandler({ onAdd: changed, onUpdate: changed, onDelete: changed });
      return cache;
    };
    const held = {
      sites: open(Site),
      peerings: open(Peering),
      contracts: open(Contract),
      virtualNodes: open(VirtualNode),
      offloadings: open(Offloading),
      nodes: open(Node),
      pods: open(Pod),
      events: open(CoreEvent),
    };
    const makers = [Deployment, StatefulSet, DaemonSet, Job].map((kind) => open(kind as Kind<KubeObject>));
    const done = caches.run(stop.signal);
    // One kind that cannot be listed is shown as empty, and does not keep the others waiting for long.
    const synced = caches.waitForSync(stop.signal).catch(() => {});
    const picture = () =>
      pictureOf({
        sites: held.sites.list(),
        peerings: held.peerings.list(),
        contracts: held.contracts.list(),
        virtualNodes: held.virtualNodes.list(),
        offloadings: held.offloadings.list(),
        nodes: held.nodes.list(),
        pods: held.pods.list(),
        events: held.events.list(),
        workloads: makers.flatMap((cache) =>
          cache.list().map((object) => ({ ...object, kind: cache.kind.kind }) as Workload),
        ),
      });
    return { stop, done, synced, picture };
  }
}
