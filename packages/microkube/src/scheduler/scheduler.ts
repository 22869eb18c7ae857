import { describeError } from "@fjord/base";
import {
  isConflict,
  isNotFound,
  Namespace,
  Node,
  PersistentVolume,
  PersistentVolumeClaim,
  Pod,
  PodDisruptionBudget,
  type Runnable,
  type SharedCache,
  StorageClass,
} from "@fjord/kube";
import type { ControlLoop, ControlMeans } from "../controllers/control-loop.ts";
import { chooseNode } from "./choose-node.ts";
import { ClusterState } from "./cluster-state.ts";
import { nodeHelps } from "./node-changes.ts";
import type { NodeFacts } from "./node-facts.ts";
import { defaultPlugins, type Plugins } from "./plugins/index.ts";
import { isBound } from "./plugins/volumes.ts";
import { type PodFacts, podFacts } from "./pod-facts.ts";
import { preempt } from "./preemption.ts";
import { SchedulingQueue } from "./scheduling-queue.ts";
import type { Volumes } from "./snapshot.ts";
import { prepareClaims } from "./volume-claims.ts";

export interface SchedulerOptions {
  /** Pods that ask for another one are left alone. @default "default-scheduler" */
  readonly schedulerName?: string;
  readonly plugins?: Plugins;
  /** How many bindings are under way at once. @default 32 */
  readonly bindings?: number;
}

/** The scheduler as one of the control loops. */
export function scheduler(options: SchedulerOptions = {}): ControlLoop {
  return (means) => new Scheduler(means, options);
}

/** How long a pod waits for its claims to be bound before its node is looked for anew. */
const CLAIMS_MS = 60_000;

/** Gives pods their nodes. */
export class Scheduler implements Runnable {
  readonly name = "scheduler";
  readonly needsLeaderElection = true;
  readonly #means: ControlMeans;
  readonly #plugins: Plugins;
  readonly #schedulerName: string;
  readonly #most: number;
  readonly #queue: SchedulingQueue;
  readonly #state: ClusterState;
  readonly #caches: {
    readonly pods: SharedCache<Pod>;
    readonly nodes: SharedCache<Node>;
    readonly namespaces: SharedCache<Namespace>;
    readonly claims: SharedCache<PersistentVolumeClaim>;
    readonly volumes: SharedCache<PersistentVolume>;
    readonly classes: SharedCache<StorageClass>;
    readonly budgets: SharedCache<PodDisruptionBudget>;
  };
  readonly #volumes: Volumes;
  readonly #underWay = new Set<Promise<void>>();
  #from = 0;

  constructor(means: ControlMeans, options: SchedulerOptions = {}) {
    this.#means = means;
    this.#plugins = options.plugins ?? defaultPlugins;
    this.#schedulerName = options.schedulerName ?? "default-scheduler";
    this.#most = options.bindings ?? 32;
    this.#queue = new SchedulingQueue({ clock: means.clock });
    const { caches } = means;
    this.#caches = {
      pods: caches.open(Pod),
      nodes: caches.open(Node),
      namespaces: caches.open(Namespace),
      claims: caches.open(PersistentVolumeClaim),
      volumes: caches.open(PersistentVolume),
      classes: caches.open(StorageClass),
      budgets: caches.open(PodDisruptionBudget),
    };
    const { namespaces, claims, volumes, classes } = this.#caches;
    const lookups = {
      namespace: (name: string) => namespaces.cache.get({ name }),
      claim: (namespace: string, name: string) => claims.cache.get({ namespace, name }),
      volume: (name: string) => volumes.cache.get({ name }),
      volumes: () => volumes.cache.list(),
      storageClass: (name: string) => classes.cache.get({ name }),
    };
    this.#volumes = lookups;
    this.#state = new ClusterState(lookups);
  }

  async run(stop: AbortSignal, abandon: AbortSignal = stop): Promise<void> {
    const caches = Object.values(this.#caches);
    await Promise.all(caches.map(({ cache }) => cache.waitForSync(stop).catch(() => {})));
    const release = this.#follow();
    stop.addEventListener("abort", () => this.#queue.close(), { once: true });
    while (!stop.aborted) {
      const pod = this.#queue.take();
      if (pod === undefined) {
        await this.#queue.wait();
        continue;
      }
      this.#schedule(pod, abandon);
      if (this.#underWay.size >= this.#most) await Promise.race(this.#underWay);
      else await new Promise((resolve) => setImmediate(resolve));
    }
    for (const each of release) each();
    await Promise.allSettled(this.#underWay);
    for (const cache of caches) cache[Symbol.dispose]();
  }

  #follow(): (() => void)[] {
    const changed = () => this.#queue.changed();
    const { pods, nodes, claims, volumes, classes } = this.#caches;
    const any = { onAdd: changed, onUpdate: changed, onDelete: changed };
    return [
      nodes.cache.addHandler({
        onAdd: (node) => this.#nodeSet(node, true),
        onUpdate: (old, node) => this.#nodeSet(node, nodeHelps(old, node)),
        onDelete: ({ metadata }) => this.#state.removeNode(metadata.name ?? ""),
      }),
      pods.cache.addHandler({
        onAdd: (pod) => this.#podSet(pod),
        onUpdate: (old, pod) => {
          if (old.metadata.uid !== pod.metadata.uid) this.#podGone(old);
          this.#podSet(pod);
        },
        onDelete: (pod) => this.#podGone(pod),
      }),
      claims.cache.addHandler(any),
      volumes.cache.addHandler(any),
      classes.cache.addHandler(any),
    ];
  }

  #nodeSet(node: Node, helps: boolean): void {
    this.#state.setNode(node);
    if (helps) this.#queue.changed();
  }

  #podSet(pod: Pod): void {
    const { metadata, spec, status } = pod;
    const uid = metadata.uid ?? "";
    const isPlaced = spec?.nodeName !== undefined && spec.nodeName !== "";
    const hasEnded = status?.phase === "Succeeded" || status?.phase === "Failed";
    this.#state.setPod(pod);
    if (isPlaced || hasEnded || metadata.deletionTimestamp !== undefined) {
      this.#queue.delete(uid);
      if (hasEnded || metadata.deletionTimestamp !== undefined) this.#state.withdraw(uid);
      // One that ends makes room, one that has come may be what another wants to be beside.
      if (isPlaced) this.#queue.changed();
      return;
    }
    const isOurs = (spec?.schedulerName ?? "default-scheduler") === this.#schedulerName;
    if (!isOurs || (spec?.schedulingGates ?? []).length > 0 || this.#state.isAssumed(uid)) return;
    const facts = podFacts(pod);
    const { nominatedNodeName = "" } = status ?? {};
    if (nominatedNodeName !== "") this.#state.nominate(facts, nominatedNodeName);
    this.#queue.set(facts);
  }

  #podGone({ metadata }: Pod): void {
    const uid = metadata.uid ?? "";
    this.#queue.delete(uid);
    this.#state.removePod(uid);
    this.#queue.changed();
  }

  #schedule(pod: PodFacts, abandon: AbortSignal): void {
    const snapshot = this.#state.snapshot(pod);
    const choice = chooseNode(pod, snapshot, {
      plugins: this.#plugins,
      random: this.#means.random,
      from: this.#from++ % Math.max(1, snapshot.nodes.length),
    });
    const { node } = choice;
    if (node !== undefined) {
      this.#state.assume(pod, node.name);
      this.#track(this.#bind(pod, node, abandon), pod);
      return;
    }
    const budgets = this.#caches.budgets.cache.list();
    const preemption = preempt(pod, snapshot, choice.failure, { plugins: this.#plugins, budgets });
    this.#queue.failed(pod.uid);
    if (preemption.node !== undefined) {
      this.#state.nominate(pod, preemption.node.name);
      const { message } = choice.failure;
      this.#track(this.#makeRoom(pod, preemption.node, preemption.victims, message, abandon), pod);
      return;
    }
    this.#state.withdraw(pod.uid);
    const message = `${choice.failure.message} preemption: ${preemption.message}`;
    this.#track(this.#report(pod, message, abandon), pod);
  }

  #track(work: Promise<void>, { namespace, name }: PodFacts): void {
    const { logger } = this.#means;
    const run = work
      .catch((error: unknown) =>
        logger.warn("scheduling failed", { namespace, pod: name, error: describeError(error) }),
      )
      .finally(() => this.#underWay.delete(run));
    this.#underWay.add(run);
  }

  async #bind(pod: PodFacts, node: NodeFacts, signal: AbortSignal): Promise<void> {
    const { client, recorder } = this.#means;
    const key = { namespace: pod.namespace, name: pod.name };
    try {
      await this.#bindClaims(pod, node, signal);
      await client.bind(key, node.name, { signal });
      this.#queue.delete(pod.uid);
      recorder.event(pod.pod, {
        type: "Normal",
        reason: "Scheduled",
        action: "Binding",
        message: `Successfully assigned ${pod.namespace}/${pod.name} to ${node.name}`,
      });
    } catch (error) {
      this.#state.forget(pod.uid);
      this.#queue.failed(pod.uid);
      this.#queue.changed();
      // It is gone, or somebody else was faster: the watch tells.
      if (!isNotFound(error) && !isConflict(error)) throw error;
    }
  }

  async #bindClaims(pod: PodFacts, node: NodeFacts, signal: AbortSignal): Promise<void> {
    if (pod.claims.length === 0) return;
    const { client, clock } = this.#means;
    const claims = await prepareClaims(client, pod, node, this.#volumes, signal);
    const { cache } = this.#caches.claims;
    const missing = () => claims.filter((key) => !isBoundIn(cache.get(key)));
    if (missing().length === 0) return;
    const bound = Promise.withResolvers<void>();
    const check = () => {
      if (missing().length === 0) bound.resolve();
    };
    const release = [
      cache.addHandler({ onUpdate: check }),
      clock.after(CLAIMS_MS, () =>
        bound.reject(new Error(`claims are not bound yet: ${missing().map(({ name }) => name)}`)),
      ),
    ];
    try {
      await bound.promise;
    } finally {
      for (const each of release) each();
    }
  }

  /** Says that the pod is to have the node, and deletes those that stand in its way. */
  async #makeRoom(
    pod: PodFacts,
    node: NodeFacts,
    victims: readonly PodFacts[],
    message: string,
    signal: AbortSignal,
  ): Promise<void> {
    const { client, recorder } = this.#means;
    for (const victim of victims) {
      const key = { namespace: victim.namespace, name: victim.name };
      const by = `${pod.pod.spec?.schedulerName ?? this.#schedulerName}: preempting to accommodate a higher priority pod`;
      const condition = { type: "DisruptionTarget", status: "True", reason: "PreemptionByScheduler", message: by };
      const patch = {
        metadata: { uid: victim.uid },
        status: { conditions: [{ ...condition, lastTransitionTime: this.#now() }] },
      };
      try {
        await client.patch(Pod, key, "strategic", patch, { subresource: "status", signal });
        await client.delete(Pod, key, { preconditions: { uid: victim.uid }, signal });
      } catch (error) {
        if (!isNotFound(error) && !isConflict(error)) throw error;
      }
      recorder.event(victim.pod, {
        type: "Normal",
        reason: "Preempted",
        action: "Preempting",
        message: `Preempted by pod ${pod.uid} on node ${node.name}`,
      });
    }
    await this.#report(
      pod,
      `${message} preemption: ${victims.length} pod(s) on ${node.name} make room.`,
      signal,
      node.name,
    );
  }

  /** The pod's condition and an event say why it has no node. */
  async #report(pod: PodFacts, message: string, signal: AbortSignal, nominatedNodeName?: string): Promise<void> {
    const { client, recorder } = this.#means;
    recorder.event(pod.pod, { type: "Warning", reason: "FailedScheduling", action: "Scheduling", message });
    const before = pod.pod.status?.conditions?.find(({ type }) => type === "PodScheduled");
    const isSaid = before?.status === "False" && before.message === message;
    if (isSaid && (pod.pod.status?.nominatedNodeName ?? "") === (nominatedNodeName ?? "")) return;
    const lastTransitionTime = before?.status === "False" ? before.lastTransitionTime : this.#now();
    const condition = { type: "PodScheduled", status: "False", reason: "Unschedulable", message, lastTransitionTime };
    const patch = {
      metadata: { uid: pod.uid },
      status: { conditions: [condition], ...(nominatedNodeName !== undefined && { nominatedNodeName }) },
    };
    try {
      const key = { namespace: pod.namespace, name: pod.name };
      await client.patch(Pod, key, "strategic", patch, { subresource: "status", signal });
    } catch (error) {
      if (!isNotFound(error) && !isConflict(error)) throw error;
    }
  }

  #now(): string {
    return new Date(this.#means.clock.now()).toISOString().replace(/\.\d+/, "");
  }
}

function isBoundIn(claim: PersistentVolumeClaim | undefined): boolean {
  return claim !== undefined && isBound(claim);
}
