import {
  type Cache,
  Deployment,
  isAlreadyExists,
  isBeingDeleted,
  Pod,
  ReplicaSet,
  type Request,
  type Result,
  requestFor,
  watches,
} from "@fjord/kube";
import type { ControlLoop, ControlMeans } from "../control-loop.ts";
import { isEmptySelector, selects } from "../label-selector.ts";
import { again, isNamespaceTerminating, Loop, reasonOf, unlessGone } from "../loop.ts";
import { controllerIndex, controllerReferenceOf, isControlledBy, orphansOf, refersTo } from "../ownership.ts";
import { mergePatch, writeFields, writeStatus } from "../status-writer.ts";
import { claim } from "../workload/claim.ts";
import { isPodFinished } from "../workload/pod-state.ts";
import {
  condition,
  conditionOf,
  countedStatus,
  type DeploymentStatus,
  hasDeadline,
  isComplete,
  pauseCondition,
  rolloutStatus,
  untilDeadline,
  withCondition,
} from "./deployment-status.ts";
import { isRolling, wantedReplicas } from "./fence.ts";
import { forgeReplicaSet } from "./replica-set-forge.ts";
import { expired, findNew, newAnnotations, REVISION, revisionOf, sameTemplate, sizeAnnotations } from "./revision.ts";
import { isScaled, newSize, rescale, type Sizing, shrinkOld, withPods } from "./scaling.ts";

export const deploymentController: ControlLoop = (means) => {
  const loop = new Loop(means, "deployment-controller");
  const deployments = loop.open(Deployment);
  const replicaSets = loop.open(ReplicaSet, controllerIndex);
  const pods = loop.open(Pod, controllerIndex);
  const controller = new DeploymentController(means, loop, deployments, replicaSets, pods);
  return loop
    .hears(pods, { onDelete: (pod) => controller.podGone(pod), onUpdate: (_, pod) => controller.podGone(pod) })
    .reconciles({
      sources: [watches(deployments), watches(replicaSets, (replicaSet) => controller.deploymentsOf(replicaSet))],
      concurrency: 10,
      reconcile: (request, { signal }) => controller.reconcile(request, signal),
    });
};

/** One look at a Deployment. `deployment` has the status that is to be written at its end. */
interface Rollout {
  deployment: Deployment;
  readonly cached: Deployment;
  current: ReplicaSet | undefined;
  readonly old: ReplicaSet[];
  readonly signal: AbortSignal;
}

class DeploymentController {
  readonly #means: ControlMeans;
  readonly #loop: Loop;
  readonly #deployments: Cache<Deployment>;
  readonly #replicaSets: Cache<ReplicaSet>;
  readonly #pods: Cache<Pod>;

  constructor(
    means: ControlMeans,
    loop: Loop,
    deployments: Cache<Deployment>,
    replicaSets: Cache<ReplicaSet>,
    pods: Cache<Pod>,
  ) {
    this.#means = means;
    this.#loop = loop;
    this.#deployments = deployments;
    this.#replicaSets = replicaSets;
    this.#pods = pods;
  }

  *deploymentsOf(replicaSet: ReplicaSet): Iterable<Request> {
    const reference = controllerReferenceOf(replicaSet);
    const { namespace, labels } = replicaSet.metadata;
    if (reference !== undefined) {
      if (refersTo(reference, Deployment)) yield { name: reference.name, namespace };
      return;
    }
    for (const deployment of this.#deployments.list(namespace)) {
      if (selects(deployment.spec?.selector, labels)) yield requestFor(deployment);
    }
  }

  /** One that recreates waits for the last of its old pods, of which no ReplicaSet tells. */
  podGone(pod: Pod): void {
    if (!isPodFinished(pod) && this.#pods.get(requestFor(pod))?.metadata.uid === pod.metadata.uid) return;
    const reference = controllerReferenceOf(pod);
    if (reference === undefined || !refersTo(reference, ReplicaSet)) return;
    const replicaSet = this.#replicaSets.get({ name: reference.name, namespace: pod.metadata.namespace });
    if (replicaSet === undefined) return;
    for (const request of this.deploymentsOf(replicaSet)) {
      const deployment = this.#deployments.get(request);
      if (deployment !== undefined && !isRolling(deployment)) this.#loop.enqueue(request);
    }
  }

  async reconcile(request: Request, signal: AbortSignal): Promise<Result> {
    const cached = this.#deployments.get(request);
    if (cached?.spec === undefined) return { type: "done" };
    if (isEmptySelector(cached.spec.selector)) return await this.#refuse(cached, signal);
    const all = await this.#claim(cached, signal);
    const current = findNew(cached, all);
    const old = all.filter((replicaSet) => replicaSet !== current);
    const rollout: Rollout = { deployment: cached, cached, current, old, signal };
    if (isBeingDeleted(cached)) return await this.#finish(rollout, countedStatus);
    const paused = pauseCondition(cached);
    if (paused !== undefined) this.#note(rollout, paused);
    await this.#syncRevision(rollout);
    if (cached.spec.paused || isScaled(cached, withCurrent(rollout))) {
      await this.#resize(rollout, rescale(cached, rollout.current, rollout.old));
      if (cached.spec.paused) await this.#cleanUp(rollout);
      return await this.#finish(rollout, countedStatus);
    }
    const moved = isRolling(cached) ? await this.#roll(rollout) : await this.#recreate(rollout);
    if (!moved && isComplete(cached, cached.status)) await this.#cleanUp(rollout);
    return await this.#finish(rollout, rolloutStatus);
  }

  /** Whether anything was scaled. */
  async #roll(rollout: Rollout): Promise<boolean> {
    const { deployment, old } = rollout;
    const current = rollout.current ?? (await this.#create(rollout));
    if (current === undefined) return true;
    const wanted = wantedReplicas(deployment);
    const size = wantedReplicas(current);
    const next = size > wanted ? wanted : newSize(deployment, [...old, current], size);
    if (await this.#resize(rollout, [{ replicaSet: current, replicas: next }])) return true;
    return await this.#resize(rollout, shrinkOld(deployment, old, current));
  }

  async #recreate(rollout: Rollout): Promise<boolean> {
    const { deployment, old } = rollout;
    const shrinking = withPods(old).map((replicaSet) => ({ replicaSet, replicas: 0 }));
    if (await this.#resize(rollout, shrinking)) return true;
    if (this.#oldPodsRun(old)) return true;
    const current = rollout.current ?? (await this.#create(rollout));
    if (current === undefined) return true;
    await this.#resize(rollout, [{ replicaSet: current, replicas: wantedReplicas(deployment) }]);
    return false;
  }

  #oldPodsRun(old: readonly ReplicaSet[]): boolean {
    return old.some(
      ({ metadata, status }) =>
        (status?.replicas ?? 0) > 0 ||
        this.#pods.byIndex("controller", metadata.uid ?? "").some((pod) => !isPodFinished(pod)),
    );
  }

  async #claim(deployment: Deployment, signal: AbortSignal): Promise<ReplicaSet[]> {
    const { uid = "", namespace } = deployment.metadata;
    const owned = this.#replicaSets.byIndex("controller", uid);
    const orphans = this.#replicaSets.byIndex("controller", orphansOf(namespace));
    return await claim([...owned, ...orphans], {
      client: this.#means.client,
      kind: ReplicaSet,
      ownerKind: Deployment,
      owner: deployment,
      matches: ({ metadata }) => selects(deployment.spec?.selector, metadata.labels),
      signal,
    });
  }

  /** Has the new ReplicaSet, where there is one, say what it should of its Deployment and revision. */
  async #syncRevision(rollout: Rollout): Promise<void> {
    const { deployment, current, old, signal } = rollout;
    if (current === undefined) return;
    const { annotations } = current.metadata;
    const added = mergePatch({ ...annotations }, newAnnotations(deployment, annotations, nextRevision(old)));
    const minReadySeconds = deployment.spec?.minReadySeconds ?? 0;
    const sameMinimum = minReadySeconds === (current.spec?.minReadySeconds ?? 0);
    if (added !== undefined || !sameMinimum) {
      const fields = { ...(added && { metadata: { annotations: added } }), spec: { minReadySeconds } };
      rollout.current = await writeFields(this.#means.client, ReplicaSet, current, fields, signal);
    }
    this.#setRevision(rollout, revisionOf(rollout.current ?? current));
    if (!hasDeadline(deployment) || conditionOf(rollout.deployment.status, "Progressing") !== undefined) return;
    const message = `Found new replica set "${current.metadata.name}"`;
    this.#note(rollout, condition("Progressing", "True", "FoundNewReplicaSet", message));
  }

  #setRevision(rollout: Rollout, revision: bigint): void {
    const { metadata } = rollout.deployment;
    const annotations = { ...metadata.annotations, [REVISION]: String(revision) };
    rollout.deployment = { ...rollout.deployment, metadata: { ...metadata, annotations } };
  }

  #note(rollout: Rollout, wanted: Parameters<typeof withCondition>[1]): void {
    const status = withCondition(rollout.deployment.status ?? {}, wanted, this.#means.clock.now());
    rollout.deployment = { ...rollout.deployment, status };
  }

  /** Undefined where another template's ReplicaSet has the name: the next look finds another name. */
  async #create(rollout: Rollout): Promise<ReplicaSet | undefined> {
    const { deployment, old, signal } = rollout;
    const revision = nextRevision(old);
    const forged = forgeReplicaSet(deployment, revision, newSize(deployment, old, 0));
    const { name } = forged.metadata;
    let created: ReplicaSet | undefined;
    try {
      created = await this.#means.client.create(ReplicaSet, forged, { signal });
    } catch (error) {
      if (isAlreadyExists(error)) return await this.#meet(rollout, forged);
      if (isNamespaceTerminating(error)) return undefined;
      const message = `Failed to create new replica set "${name}": ${reasonOf(error)}`;
      this.#loop.event(deployment, "Warning", "ReplicaSetCreateError", message);
      this.#note(rollout, condition("Progressing", "False", "ReplicaSetCreateError", message));
      if (hasDeadline(deployment)) await this.#write(rollout, rollout.deployment.status ?? {});
      throw error;
    }
    const replicas = wantedReplicas(created);
    if (replicas > 0) this.#scaled(deployment, created, 0, replicas);
    this.#setRevision(rollout, revision);
    if (hasDeadline(deployment)) {
      const message = `Created new replica set "${name}"`;
      this.#note(rollout, condition("Progressing", "True", "NewReplicaSetCreated", message));
    }
    rollout.current = created;
    return created;
  }

  /** Somebody has the name: this Deployment itself, while the cache did not show it yet, or a collision. */
  async #meet(rollout: Rollout, forged: ReplicaSet): Promise<ReplicaSet | undefined> {
    const { deployment, signal } = rollout;
    const found = await unlessGone(this.#means.client.get(ReplicaSet, requestFor(forged), { signal }));
    if (found === undefined) return undefined;
    if (isControlledBy(found, deployment) && sameTemplate(found.spec?.template, deployment.spec?.template)) {
      rollout.current = found;
      return found;
    }
    const collisionCount = (deployment.status?.collisionCount ?? 0) + 1;
    rollout.deployment = { ...deployment, status: { ...deployment.status, collisionCount } };
    return undefined;
  }

  /** Whether any size has changed. */
  async #resize(rollout: Rollout, sizings: readonly Sizing[]): Promise<boolean> {
    let changed = false;
    for (const { replicaSet, replicas, force } of sizings) {
      const before = wantedReplicas(replicaSet);
      const { annotations } = replicaSet.metadata;
      if (before === replicas && !force) continue;
      const added = mergePatch({ ...annotations }, { ...annotations, ...sizeAnnotations(rollout.deployment) });
      if (before === replicas && added === undefined) continue;
      const fields = { ...(added && { metadata: { annotations: added } }), spec: { replicas } };
      const updated = await writeFields(this.#means.client, ReplicaSet, replicaSet, fields, rollout.signal);
      this.#replace(rollout, replicaSet, updated);
      if (before === replicas) continue;
      changed = true;
      this.#scaled(rollout.deployment, replicaSet, before, replicas);
    }
    return changed;
  }

  #replace(rollout: Rollout, before: ReplicaSet, after: ReplicaSet): void {
    if (rollout.current?.metadata.uid === before.metadata.uid) rollout.current = after;
    const index = rollout.old.findIndex(({ metadata }) => metadata.uid === before.metadata.uid);
    if (index >= 0) rollout.old[index] = after;
  }

  #scaled(deployment: Deployment, { metadata }: ReplicaSet, from: number, to: number): void {
    const message = `Scaled ${from < to ? "up" : "down"} replica set ${metadata.name} from ${from} to ${to}`;
    this.#loop.event(deployment, "Normal", "ScalingReplicaSet", message);
  }

  async #cleanUp({ deployment, old, signal }: Rollout): Promise<void> {
    for (const replicaSet of expired(deployment, old)) {
      const preconditions = { uid: replicaSet.metadata.uid };
      await unlessGone(
        this.#means.client.delete(ReplicaSet, requestFor(replicaSet), {
          preconditions,
          propagationPolicy: "Background",
          signal,
        }),
      );
    }
  }

  async #finish(rollout: Rollout, statusOf: typeof rolloutStatus): Promise<Result> {
    const now = this.#means.clock.now();
    const status = statusOf(rollout.deployment, withCurrent(rollout), rollout.current, now);
    await this.#write(rollout, status);
    const left = rollout.deployment.spec?.paused ? undefined : untilDeadline(rollout.deployment, status, now);
    return left === undefined ? { type: "done" } : again(left);
  }

  async #write({ deployment, cached, signal }: Rollout, status: DeploymentStatus): Promise<void> {
    const { annotations } = deployment.metadata;
    await writeStatus(this.#means.client, Deployment, cached, { status, ...(annotations && { annotations }) }, signal);
  }

  async #refuse(deployment: Deployment, signal: AbortSignal): Promise<Result> {
    const message = "This deployment is selecting all pods. A non-empty selector is required.";
    this.#loop.event(deployment, "Warning", "SelectingAll", message);
    const status = { ...deployment.status, observedGeneration: deployment.metadata.generation };
    await writeStatus(this.#means.client, Deployment, deployment, { status }, signal);
    return { type: "done" };
  }
}

function nextRevision(old: readonly ReplicaSet[]): bigint {
  return old.map(revisionOf).reduce((most, revision) => (revision > most ? revision : most), 0n) + 1n;
}

function withCurrent({ old, current }: Rollout): ReplicaSet[] {
  return current === undefined ? [...old] : [...old, current];
}
