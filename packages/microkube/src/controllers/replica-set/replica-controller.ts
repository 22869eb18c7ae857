import type { Kind, KubeObject } from "@fjord/base";
import { type Cache, isBeingDeleted, type KubeClient, Pod, type Request, type Result, watches } from "@fjord/kube";
import type { ControlMeans } from "../control-loop.ts";
import type { Labels } from "../label-selector.ts";
import { again, isNamespaceTerminating, Loop, reasonOf } from "../loop.ts";
import { controllerIndex, controllerReferenceOf } from "../ownership.ts";
import { writeStatus } from "../status-writer.ts";
import { OwnedPods } from "../workload/owned-pods.ts";
import { forgePod } from "../workload/pod-forge.ts";
import { podsToDelete } from "../workload/pod-ranking.ts";
import { isPodActive, isPodTerminating, untilAvailable } from "../workload/pod-state.ts";
import { type ReplicaSetStatus, type ReplicaSpec, replicaStatus } from "./replica-status.ts";

/** So many pods are made or deleted at most before the cache is looked at again. */
const BURST = 500;

/** A kind whose objects each keep a number of equal pods. */
export interface ReplicaKind<T extends KubeObject> {
  readonly kind: Kind<T>;
  readonly name: string;
  readonly spec: (owner: T) => ReplicaSpec;
  readonly status: (owner: T) => ReplicaSetStatus | undefined;
  readonly selects: (owner: T, labels: Labels | undefined) => boolean;
  /** Whether pods that are going away are counted in the status. */
  readonly countsTerminating: boolean;
}

/** Keeps as many pods as each owner asks for. */
export function replicaLoop<T extends KubeObject>(means: ControlMeans, replicaKind: ReplicaKind<T>): Loop {
  const loop = new Loop(means, replicaKind.name);
  const owners = loop.open(replicaKind.kind, controllerIndex);
  const pods = loop.open(Pod, controllerIndex);
  const controller = new ReplicaController(means, loop, replicaKind, owners, pods);
  return loop
    .hears(pods, controller.owned.observer())
    .hears(owners, { onDelete: ({ metadata }) => controller.owned.expectations.forget(metadata.uid ?? "") })
    .reconciles({
      sources: [watches(owners), watches(pods, (pod) => controller.owned.ownersOf(pod))],
      concurrency: 10,
      reconcile: (request, { signal }) => controller.reconcile(request, signal),
    });
}

class ReplicaController<T extends KubeObject> {
  readonly owned: OwnedPods<T>;
  readonly #means: ControlMeans;
  readonly #client: KubeClient;
  readonly #kind: ReplicaKind<T>;
  readonly #owners: Cache<T>;
  readonly #pods: Cache<Pod>;

  constructor(means: ControlMeans, loop: Loop, kind: ReplicaKind<T>, owners: Cache<T>, pods: Cache<Pod>) {
    this.owned = new OwnedPods({
      means,
      teller: loop,
      kind: kind.kind,
      owners,
      pods,
      selects: (owner, { metadata }) => kind.selects(owner, metadata.labels),
    });
    this.#means = means;
    this.#client = means.client;
    this.#kind = kind;
    this.#owners = owners;
    this.#pods = pods;
  }

  async reconcile(request: Request, signal: AbortSignal): Promise<Result> {
    const owner = this.#owners.get(request);
    if (owner === undefined) return { type: "done" };
    const { uid = "", generation } = owner.metadata;
    const spec = this.#kind.spec(owner);
    // Before anything is awaited: what the cache shows later must not be taken for what it shows now.
    const settled = this.owned.expectations.satisfied(uid);
    const owned = this.owned.of(owner);
    const matches = (pod: Pod) => this.#kind.selects(owner, pod.metadata.labels);
    const active = await this.owned.claim(owner, signal, isPodActive);
    let failure: unknown;
    if (settled && !isBeingDeleted(owner)) failure = await this.#scale(owner, spec, active, signal);
    const now = this.#means.clock.now();
    const terminating = this.#kind.countsTerminating
      ? owned.filter((pod) => isPodTerminating(pod) && matches(pod)).length
      : undefined;
    const status = replicaStatus(spec, this.#kind.status(owner), {
      active,
      terminating,
      failure: failure === undefined ? undefined : reasonOf(failure),
      generation,
      now,
    });
    await writeStatus(this.#client, this.#kind.kind, owner, { status }, signal);
    if (failure !== undefined) throw failure;
    if ((status.readyReplicas ?? 0) === (status.availableReplicas ?? 0)) return { type: "done" };
    return again(untilAvailable(active, spec.minReadySeconds, now) ?? spec.minReadySeconds * 1000);
  }

  /** Makes or deletes pods, and gives what went wrong. */
  async #scale(owner: T, spec: ReplicaSpec, active: readonly Pod[], signal: AbortSignal): Promise<unknown> {
    const difference = spec.replicas - active.length;
    const count = Math.min(BURST, Math.abs(difference));
    if (difference > 0) return await this.#create(owner, spec, count, signal);
    if (difference < 0) return await this.#delete(owner, active, count, signal);
    return undefined;
  }

  async #create(owner: T, { template }: ReplicaSpec, count: number, signal: AbortSignal): Promise<unknown> {
    const pod = forgePod(template, this.#kind.kind, owner);
    const { error } = await this.owned.create(owner, count, () => pod, signal);
    return error === undefined || isNamespaceTerminating(error) ? undefined : error;
  }

  async #delete(owner: T, active: readonly Pod[], count: number, signal: AbortSignal): Promise<unknown> {
    const chosen = podsToDelete(active, count, this.#related(owner, active), this.#means.clock.now());
    return (await this.owned.delete(owner, chosen, signal)).error;
  }

  /** Pods of all that belong to the same Deployment: a node with many of them is relieved first. */
  #related(owner: T, active: readonly Pod[]): readonly Pod[] {
    const reference = controllerReferenceOf(owner);
    if (reference === undefined) return active;
    const siblings = this.#owners.byIndex("controller", reference.uid);
    return siblings.flatMap(({ metadata }) => this.#pods.byIndex("controller", metadata.uid ?? ""));
  }
}
