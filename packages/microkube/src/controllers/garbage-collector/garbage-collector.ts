import { describeError, type Kind, type KubeObject, type OwnerReference, sleep } from "@fjord/base";
import { Cache, CustomResourceDefinition, Discovery, isNotFound, type Result } from "@fjord/kube";
import type { ControlLoop, ControlMeans } from "../control-loop.ts";
import { Loop } from "../loop.ts";
import { refersTo } from "../ownership.ts";
import {
  FOREGROUND,
  type GraphNode,
  leavesOrphans,
  nodeOf,
  ORPHAN,
  OwnerGraph,
  waitsForDependents,
} from "./owner-graph.ts";
import { blockers, judge, type OwnerState } from "./verdict.ts";
import { collectableKinds, ownershipOnly, resourceId } from "./watched-kinds.ts";

/** How often the server is asked for new kinds, beside after each change of a definition. */
const DISCOVER_MS = 30_000;
const AT_EASE_MS = 250;
/** A definition is served a moment after it was made. */
const DEFINED_MS = 200;
/** The owner of something new is most often new too, and its own watch a moment behind. */
const SETTLE_MS = 300;

export interface GarbageCollectorOptions {
  /** Kinds that others keep whole in the shared caches anyway: they are not watched twice. */
  readonly shared?: readonly Kind[];
}

/** Deletes what has lost all its owners, and carries out deletions in the foreground and with orphans. */
export function garbageCollector({ shared = [] }: GarbageCollectorOptions = {}): ControlLoop {
  return (means) => {
    const loop = new Loop(means, "garbage-collector-controller");
    const collector = new GarbageCollector(means, loop, new Set(shared.map(resourceId)));
    return loop
      .meanwhile((stop) => collector.watch(stop))
      .reconciles({
        sources: [],
        concurrency: 20,
        reconcile: ({ name }, { signal }) => collector.look(name, signal),
      });
  };
}

interface Watched {
  readonly kind: Kind;
  readonly cache: Cache<KubeObject>;
  stop(): void;
}

class GarbageCollector {
  readonly #means: ControlMeans;
  readonly #loop: Loop;
  readonly #shared: ReadonlySet<string>;
  readonly #graph = new OwnerGraph();
  readonly #discovery: Discovery;
  readonly #watched = new Map<string, Watched>();
  /** Owners that the server said are absent: no uid ever comes back. */
  readonly #absent = new Set<string>();
  /** Looked at when everything is known: before that everybody's owner would seem unknown. */
  #early: Set<string> | undefined = new Set();
  #wake: () => void = () => {};

  constructor(means: ControlMeans, loop: Loop, shared: ReadonlySet<string>) {
    this.#means = means;
    this.#loop = loop;
    this.#shared = shared;
    this.#discovery = new Discovery(means.client, { ...means, ttlMs: 0, missIntervalMs: 1_000 });
  }

  /** Follows every kind there is, until `stop`. */
  async watch(stop: AbortSignal): Promise<void> {
    const { clock, logger } = this.#means;
    // A cluster that has just come up has more urgent things to do than to list everything it has.
    await sleep(clock, AT_EASE_MS, stop);
    while (!stop.aborted) {
      try {
        await this.#follow(stop);
      } catch (error) {
        if (!stop.aborted) logger.warn("cannot find out what there is to collect", { error: describeError(error) });
      }
      const woken = new AbortController();
      this.#wake = () => woken.abort();
      await sleep(clock, DISCOVER_MS, AbortSignal.any([stop, woken.signal]));
      if (woken.signal.aborted) await sleep(clock, DEFINED_MS, stop);
    }
    for (const watched of this.#watched.values()) watched.stop();
  }

  async #follow(stop: AbortSignal): Promise<void> {
    const { resources, unanswered } = await this.#discovery.surface();
    const kinds = collectableKinds(resources);
    for (const [id, watched] of this.#watched) {
      const known = kinds.get(id);
      const isSilent = unanswered.some(({ groupVersion }) => groupVersion.startsWith(`${watched.kind.group}/`));
      if (isSilent || (known?.kind === watched.kind.kind && known.version === watched.kind.version)) continue;
      watched.stop();
      this.#watched.delete(id);
    }
    for (const [id, kind] of kinds) if (!this.#watched.has(id)) this.#watched.set(id, this.#open(id, kind, stop));
    const synced = [...this.#watched.values()].map(({ cache }) => cache.waitForSync(stop));
    if (this.#early === undefined) return;
    await Promise.all(synced);
    const early = this.#early;
    this.#early = undefined;
    for (const uid of early) this.#enqueue([uid]);
  }

  #open(id: string, kind: Kind, stop: AbortSignal): Watched {
    const isDefinition = kind.kind === CustomResourceDefinition.kind && kind.group === CustomResourceDefinition.group;
    const put = (object: KubeObject) => {
      this.#enqueue(this.#graph.put(nodeOf(kind, object)));
      if (isDefinition) this.#wake();
    };
    const gone = ({ metadata }: KubeObject) => {
      const uid = metadata.uid ?? "";
      this.#enqueue(this.#graph.remove(uid));
      if (isDefinition) this.#wake();
    };
    const handler = {
      onAdd: put,
      onUpdate: (old: KubeObject, object: KubeObject) => {
        if (old.metadata.uid !== object.metadata.uid) gone(old);
        put(object);
      },
      onDelete: gone,
    };
    if (this.#shared.has(id)) {
      const held = this.#means.caches.open(kind);
      const remove = held.cache.addHandler(handler);
      const stopHearing = () => {
        remove();
        held[Symbol.dispose]();
      };
      return { kind, cache: held.cache, stop: stopHearing };
    }
    const cache = new Cache({ ...this.#means, kind, transform: ownershipOnly });
    const ended = new AbortController();
    cache.addHandler(handler);
    void cache.run(AbortSignal.any([stop, ended.signal]));
    return {
      kind,
      cache,
      stop: () => {
        ended.abort();
        // The kind is served no longer, and so its objects are gone without a word.
        if (!stop.aborted) for (const object of cache.list()) gone(object);
      },
    };
  }

  #enqueue(uids: readonly string[]): void {
    for (const uid of uids) {
      if (this.#early !== undefined) this.#early.add(uid);
      else this.#loop.enqueue({ name: uid }, this.#isSettling(uid) ? SETTLE_MS : 0);
    }
  }

  #isSettling(uid: string): boolean {
    const node = this.#graph.get(uid);
    return (
      node?.owners.some((owner) => !this.#absent.has(owner.uid) && this.#graph.get(owner.uid) === undefined) ?? false
    );
  }

  async look(uid: string, signal: AbortSignal): Promise<Result> {
    const node = this.#graph.get(uid);
    if (node === undefined) return { type: "done" };
    try {
      if (leavesOrphans(node)) await this.#orphan(node, signal);
      else if (waitsForDependents(node)) await this.#release(node, signal);
      else if (!node.deleting) await this.#collect(node, signal);
    } catch (error) {
      if (!isNotFound(error)) throw error;
    }
    return { type: "done" };
  }

  async #collect(node: GraphNode, signal: AbortSignal): Promise<void> {
    if (node.owners.length === 0) return;
    const states = new Map<OwnerReference, OwnerState>();
    for (const owner of node.owners) states.set(owner, await this.#stateOf(node, owner, signal));
    const verdict = judge(node, (owner) => states.get(owner) ?? "solid", this.#graph.dependentsOf(node.uid));
    if (verdict.type === "leave") return;
    if (verdict.type === "disown") return await this.#setOwners(node, verdict.owners, signal);
    let { resourceVersion } = node;
    if (verdict.unblock) {
      const owners = node.owners.map((owner) => ({ ...owner, blockOwnerDeletion: false }));
      resourceVersion = (await this.#patch(node, { ownerReferences: owners }, signal)).metadata.resourceVersion ?? "";
    }
    const preconditions = { uid: node.uid, resourceVersion };
    await this.#means.client.delete(node.kind, node, { propagationPolicy: verdict.policy, preconditions, signal });
  }

  async #stateOf(node: GraphNode, owner: OwnerReference, signal: AbortSignal): Promise<OwnerState> {
    const known = this.#graph.get(owner.uid);
    if (known !== undefined && known.name === owner.name && refersTo(owner, known.kind)) {
      return waitsForDependents(known) ? "waiting" : "solid";
    }
    if (this.#absent.has(owner.uid)) return "absent";
    try {
      const { apiVersion, kind: name } = owner;
      const kind = await this.#kindOf(apiVersion, name);
      // Nobody outside a namespace can belong to somebody in it; whoever says so is left alone.
      if (kind.namespaced && node.namespace === undefined) return "solid";
      const key = { name: owner.name, ...(kind.namespaced && { namespace: node.namespace }) };
      const found = await this.#means.client.get(kind, key, { signal });
      if (found.metadata.uid === owner.uid) {
        return waitsForDependents(nodeOf(kind, found)) ? "waiting" : "solid";
      }
    } catch (error) {
      if (!isNotFound(error)) throw error;
    }
    if (this.#absent.size > 10_000) this.#absent.clear();
    this.#absent.add(owner.uid);
    return "absent";
  }

  async #kindOf(apiVersion: string, name: string): Promise<Kind> {
    for (const { kind } of this.#watched.values()) {
      if (refersTo({ apiVersion, kind: name, name: "", uid: "" }, kind)) return kind;
    }
    return await this.#discovery.resolve({ apiVersion, kind: name });
  }

  /** Lets one go that waits for its dependents, once nobody blocks it. */
  async #release(node: GraphNode, signal: AbortSignal): Promise<void> {
    const blocking = blockers(node, this.#graph.dependentsOf(node.uid));
    if (blocking.length > 0) {
      for (const dependent of blocking) if (!dependent.deleting) this.#loop.enqueue({ name: dependent.uid });
      return;
    }
    await this.#removeFinalizer(node, FOREGROUND, signal);
  }

  async #orphan(node: GraphNode, signal: AbortSignal): Promise<void> {
    await Promise.all(
      this.#graph.dependentsOf(node.uid).map(async (dependent) => {
        const owners = dependent.owners.filter(({ uid }) => uid !== node.uid);
        try {
          await this.#setOwners(dependent, owners, signal);
        } catch (error) {
          if (!isNotFound(error)) throw error;
        }
      }),
    );
    await this.#removeFinalizer(node, ORPHAN, signal);
  }

  async #setOwners(node: GraphNode, owners: readonly OwnerReference[], signal: AbortSignal): Promise<void> {
    await this.#patch(node, { ownerReferences: owners }, signal);
  }

  async #removeFinalizer(node: GraphNode, finalizer: string, signal: AbortSignal): Promise<void> {
    await this.#patch(node, { finalizers: node.finalizers.filter((name) => name !== finalizer) }, signal);
  }

  #patch(node: GraphNode, metadata: object, signal: AbortSignal): Promise<KubeObject> {
    const { uid, resourceVersion } = node;
    const patch = { metadata: { uid, resourceVersion, ...metadata } };
    return this.#means.client.patch(node.kind, node, "merge", patch, { signal });
  }
}
