import type { OwnerReference } from "@fjord/base";
import {
  byNamespace,
  type Cache,
  Deployment,
  Discovery,
  isNotFound,
  Pod,
  PodDisruptionBudget,
  ReplicaSet,
  ReplicationController,
  type Request,
  type Result,
  requestFor,
  StatefulSet,
  watches,
} from "@fjord/kube";
import type { ControlLoop, ControlMeans } from "../control-loop.ts";
import { selects } from "../label-selector.ts";
import { again, Loop, reasonOf } from "../loop.ts";
import { controllerReferenceOf, refersTo } from "../ownership.ts";
import { writeStatus } from "../status-writer.ts";
import { allowedCondition, budgetStatus, expectation, needsScale } from "./budget.ts";

/** Says of each PodDisruptionBudget how many pods may go now. */
export const disruptionController: ControlLoop = (means) => {
  const loop = new Loop(means, "disruption-controller", "controllermanager");
  const budgets = loop.open(PodDisruptionBudget, { namespace: byNamespace });
  const pods = loop.open(Pod, { namespace: byNamespace });
  const controller = new DisruptionController(means, loop, {
    budgets,
    pods,
    replicaSets: loop.open(ReplicaSet),
    deployments: loop.open(Deployment),
    statefulSets: loop.open(StatefulSet),
    replicationControllers: loop.open(ReplicationController),
  });
  return loop.reconciles({
    sources: [watches(budgets), watches(pods, (pod) => controller.budgetsOf(pod))],
    reconcile: (request, { signal }) => controller.reconcile(request, signal),
  });
};

interface Caches {
  readonly budgets: Cache<PodDisruptionBudget>;
  readonly pods: Cache<Pod>;
  readonly replicaSets: Cache<ReplicaSet>;
  readonly deployments: Cache<Deployment>;
  readonly statefulSets: Cache<StatefulSet>;
  readonly replicationControllers: Cache<ReplicationController>;
}

class DisruptionController {
  readonly #means: ControlMeans;
  readonly #loop: Loop;
  readonly #caches: Caches;
  readonly #discovery: Discovery;

  constructor(means: ControlMeans, loop: Loop, caches: Caches) {
    this.#means = means;
    this.#loop = loop;
    this.#caches = caches;
    this.#discovery = new Discovery(means.client, means);
  }

  *budgetsOf({ metadata }: Pod): Iterable<Request> {
    for (const budget of this.#caches.budgets.byIndex("namespace", metadata.namespace ?? "")) {
      if (selects(budget.spec?.selector, metadata.labels)) yield requestFor(budget);
    }
  }

  async reconcile(request: Request, signal: AbortSignal): Promise<Result> {
    const budget = this.#caches.budgets.get(request);
    if (budget === undefined) return { type: "done" };
    const namespace = request.namespace ?? "";
    const pods = this.#caches.pods
      .byIndex("namespace", namespace)
      .filter(({ metadata }) => selects(budget.spec?.selector, metadata.labels));
    if (pods.length === 0) this.#loop.event(budget, "Normal", "NoPods", "No matching pods found");
    const now = this.#means.clock.now();
    try {
      const scale = needsScale(budget) ? await this.#scaleOf(pods, signal) : 0;
      const { status, untilMs } = budgetStatus(budget, pods, expectation(budget, pods.length, scale), now);
      await writeStatus(this.#means.client, PodDisruptionBudget, budget, { status }, signal);
      return untilMs === undefined ? { type: "done" } : again(untilMs + 1000);
    } catch (error) {
      if (!(error instanceof UnknownScale)) throw error;
      const message = `Failed to calculate the number of expected pods: ${error.message}`;
      this.#loop.event(budget, "Warning", "CalculateExpectedPodCountFailed", message);
      // Nothing may go while nobody knows how many there should be.
      const { generation } = budget.metadata;
      const conditions = allowedCondition(budget, "SyncFailed", error.message, generation, now);
      const status = { ...budget.status, disruptionsAllowed: 0, observedGeneration: generation, conditions };
      await writeStatus(this.#means.client, PodDisruptionBudget, budget, { status }, signal);
      return { type: "done" };
    }
  }

  /** How many pods the controllers of these ask for together. */
  async #scaleOf(pods: readonly Pod[], signal: AbortSignal): Promise<number> {
    const scales = new Map<string, number>();
    for (const pod of pods) {
      const reference = controllerReferenceOf(pod);
      if (reference === undefined) continue;
      if (scales.has(reference.uid)) continue;
      const found = await this.#controllerScale(reference, pod.metadata.namespace, signal);
      scales.set(reference.uid, 0);
      scales.set(found.uid, found.scale);
    }
    return [...scales.values()].reduce((total, scale) => total + scale, 0);
  }

  async #controllerScale(
    reference: OwnerReference,
    namespace: string | undefined,
    signal: AbortSignal,
  ): Promise<{ uid: string; scale: number }> {
    const { name, uid } = reference;
    const key = { name, namespace };
    if (refersTo(reference, ReplicaSet)) {
      const replicaSet = this.#caches.replicaSets.get(key);
      const owner = replicaSet && controllerReferenceOf(replicaSet);
      if (owner !== undefined && refersTo(owner, Deployment)) {
        const deployment = this.#caches.deployments.get({ name: owner.name, namespace });
        if (deployment?.metadata.uid === owner.uid) return { uid: owner.uid, scale: deployment.spec?.replicas ?? 1 };
      }
      if (replicaSet?.metadata.uid === uid) return { uid, scale: replicaSet.spec?.replicas ?? 1 };
    }
    if (refersTo(reference, StatefulSet)) {
      const set = this.#caches.statefulSets.get(key);
      if (set?.metadata.uid === uid) return { uid, scale: set.spec?.replicas ?? 1 };
    }
    if (refersTo(reference, ReplicationController)) {
      const owner = this.#caches.replicationControllers.get(key);
      if (owner?.metadata.uid === uid) return { uid, scale: owner.spec?.replicas ?? 1 };
    }
    return await this.#otherScale(reference, namespace, signal);
  }

  /** Of a kind that only its scale is known of. */
  async #otherScale(reference: OwnerReference, namespace: string | undefined, signal: AbortSignal) {
    const { apiVersion, kind: kindName, name, uid } = reference;
    try {
      const { kind, subresources } = await this.#discovery.resource({ apiVersion, kind: kindName });
      if (!subresources.includes("scale"))
        throw new UnknownScale(`${kind.plural} does not implement the scale subresource`);
      const scale = await this.#means.client.getScale(kind, { name, namespace }, { signal });
      return { uid, scale: scale.spec.replicas ?? 0 };
    } catch (error) {
      if (isNotFound(error)) return { uid, scale: 0 };
      if (error instanceof UnknownScale) throw error;
      throw new UnknownScale(reasonOf(error));
    }
  }
}

class UnknownScale extends Error {}
