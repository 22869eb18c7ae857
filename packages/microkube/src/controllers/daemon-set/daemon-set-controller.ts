import { backoffDelay } from "@fjord/base";
import {
  type Cache,
  ControllerRevision,
  DaemonSet,
  isBeingDeleted,
  Node,
  Pod,
  type Request,
  type Result,
  requestFor,
  updatesWhere,
  watches,
} from "@fjord/kube";
import type { ControlLoop, ControlMeans } from "../control-loop.ts";
import { Expectations } from "../expectations.ts";
import { RevisionHistory } from "../history/revision-history.ts";
import { isEmptySelector, selects } from "../label-selector.ts";
import { again, Loop } from "../loop.ts";
import { controllerIndex, controllerReferenceOf, orphansOf, refersTo } from "../ownership.ts";
import { sameValue } from "../same-value.ts";
import { slowStart } from "../slow-start.ts";
import { writeStatus } from "../status-writer.ts";
import { claim } from "../workload/claim.ts";
import { PodControl } from "../workload/pod-control.ts";
import { isPodFinished, isPodTerminating, untilAvailable } from "../workload/pod-state.ts";
import { type DaemonPlan, daemonStatus, type Place, placesOf, planPlaces, planUpdate } from "./daemon-plan.ts";
import { forgeDaemonPod, REVISION_HASH, targetNode } from "./daemon-pod.ts";

const BURST = 250;

export const daemonSetController: ControlLoop = (means) => {
  const loop = new Loop(means, "daemonset-controller");
  const sets = loop.open(DaemonSet);
  const pods = loop.open(Pod, controllerIndex);
  const nodes = loop.open(Node);
  const revisions = loop.open(ControllerRevision, controllerIndex);
  const controller = new DaemonSetController(means, loop, { sets, pods, nodes, revisions });
  return loop
    .hears(pods, {
      onAdd: (pod) => controller.saw(pod, true),
      onUpdate: (_, pod) => controller.saw(pod, false),
      onDelete: (pod) => controller.sawGone(pod),
    })
    .reconciles({
      sources: [
        watches(sets),
        watches(pods, (pod) => controller.setsOf(pod)),
        watches(nodes, { when: updatesWhere(isOtherPlace), map: () => sets.list().map(requestFor) }),
      ],
      reconcile: (request, { signal }) => controller.reconcile(request, signal),
    });
};

/** Whether a set may think otherwise of a node; not for its heartbeats. */
function isOtherPlace(old: Node, node: Node): boolean {
  return !sameValue(old.metadata.labels, node.metadata.labels) || !sameValue(old.spec?.taints, node.spec?.taints);
}

interface Caches {
  readonly sets: Cache<DaemonSet>;
  readonly pods: Cache<Pod>;
  readonly nodes: Cache<Node>;
  readonly revisions: Cache<ControllerRevision>;
}

class DaemonSetController {
  readonly #means: ControlMeans;
  readonly #loop: Loop;
  readonly #caches: Caches;
  readonly #control: PodControl;
  readonly #history: RevisionHistory<DaemonSet>;
  readonly #expectations: Expectations;
  /** When a pod that ends by itself may be replaced again, by set and node. */
  readonly #failures = new Map<string, { count: number; until: number }>();

  constructor(means: ControlMeans, loop: Loop, caches: Caches) {
    this.#means = means;
    this.#loop = loop;
    this.#caches = caches;
    this.#control = new PodControl(means.client, loop);
    this.#expectations = new Expectations(means.clock);
    const { revisions } = caches;
    this.#history = new RevisionHistory({ client: means.client, kind: DaemonSet, revisions, hashLabel: REVISION_HASH });
  }

  saw(pod: Pod, isNew: boolean): void {
    const owner = controllerReferenceOf(pod)?.uid;
    if (owner === undefined) return;
    if (isNew) this.#expectations.creationObserved(owner);
    if (isPodTerminating(pod)) this.sawGone(pod);
  }

  sawGone(pod: Pod): void {
    const owner = controllerReferenceOf(pod)?.uid;
    if (owner !== undefined) this.#expectations.deletionObserved(owner, pod.metadata.uid ?? "");
  }

  *setsOf(pod: Pod): Iterable<Request> {
    const reference = controllerReferenceOf(pod);
    const { namespace, labels } = pod.metadata;
    if (reference !== undefined) {
      if (refersTo(reference, DaemonSet)) yield { name: reference.name, namespace };
      return;
    }
    for (const set of this.#caches.sets.list(namespace)) {
      if (selects(set.spec?.selector, labels)) yield requestFor(set);
    }
  }

  async reconcile(request: Request, signal: AbortSignal): Promise<Result> {
    const set = this.#caches.sets.get(request);
    if (set?.spec === undefined || isBeingDeleted(set)) return { type: "done" };
    if (isEmptySelector(set.spec.selector)) {
      const message = "This daemon set is selecting all pods. A non-empty selector is required.";
      this.#loop.event(set, "Warning", "SelectingAll", message);
      return { type: "done" };
    }
    const { uid = "" } = set.metadata;
    const isSettled = this.#expectations.satisfied(uid);
    const known = await this.#history.claim(set, signal);
    const present = await this.#history.present(set, known, set.status?.collisionCount ?? 0, signal);
    const hash = present.update.metadata.labels?.[REVISION_HASH] ?? "";
    const pods = await this.#claim(set, signal);
    const places = placesOf(set, this.#caches.nodes.list(), byTarget(pods));
    const now = this.#means.clock.now();
    let wait: number | undefined;
    if (isSettled) wait = await this.#act(set, places, hash, now, signal);
    const live = new Set([present.update.metadata.name ?? ""]);
    for (const pod of pods) {
      const own = present.all.find(
        ({ metadata }) => metadata.labels?.[REVISION_HASH] === pod.metadata.labels?.[REVISION_HASH],
      );
      if (own !== undefined) live.add(own.metadata.name ?? "");
    }
    await this.#history.truncate(set, present.all, live, signal);
    const status = daemonStatus(set, places, hash, present.collisions, now);
    await writeStatus(this.#means.client, DaemonSet, set, { status }, signal);
    const left = untilAvailable(pods, set.spec.minReadySeconds ?? 0, now);
    const soonest = [wait, left].filter((ms) => ms !== undefined);
    return soonest.length === 0 ? { type: "done" } : again(Math.min(...soonest));
  }

  async #claim(set: DaemonSet, signal: AbortSignal): Promise<Pod[]> {
    const { uid = "", namespace } = set.metadata;
    const { pods } = this.#caches;
    const candidates = [...pods.byIndex("controller", uid), ...pods.byIndex("controller", orphansOf(namespace))];
    return await claim(candidates, {
      client: this.#means.client,
      kind: Pod,
      ownerKind: DaemonSet,
      owner: set,
      matches: ({ metadata }) => selects(set.spec?.selector, metadata.labels),
      signal,
    });
  }

  /** Gives how long to wait before a pod that ended may be replaced. */
  async #act(
    set: DaemonSet,
    places: readonly Place[],
    hash: string,
    now: number,
    signal: AbortSignal,
  ): Promise<number | undefined> {
    const plan = planPlaces(set, places, hash, now);
    const { due, wait } = this.#endedPods(set, plan, now);
    await this.#carryOut(set, { ...plan, delete: [...plan.delete, ...due] }, hash, signal);
    const isIdle = plan.create.length === 0 && plan.delete.length === 0 && due.length === 0;
    if (!isIdle || set.spec?.updateStrategy?.type === "OnDelete") return wait;
    await this.#carryOut(set, planUpdate(set, places, hash, now), hash, signal);
    return wait;
  }

  /** Pods that end again and again are replaced ever more slowly. */
  #endedPods(set: DaemonSet, { ended }: DaemonPlan, now: number): { due: Pod[]; wait: number | undefined } {
    const due: Pod[] = [];
    let wait: number | undefined;
    for (const pod of ended) {
      const node = targetNode(pod) ?? "";
      const key = `${set.metadata.uid} ${set.status?.observedGeneration} ${node}`;
      const failure = this.#failures.get(key) ?? { count: 0, until: 0 };
      if (failure.until > now) {
        wait = Math.min(wait ?? Number.POSITIVE_INFINITY, failure.until - now);
        continue;
      }
      const delay = backoffDelay(failure.count, { initial: 1000, max: 900_000, jitter: 0, random: this.#means.random });
      if (this.#failures.size > 1000) this.#failures.clear();
      this.#failures.set(key, { count: failure.count + 1, until: now + delay });
      due.push(pod);
      const { namespace, name } = pod.metadata;
      const isFailed = pod.status?.phase === "Failed";
      const message = isFailed
        ? `Found failed daemon pod ${namespace}/${name} on node ${node}, will try to kill it`
        : `Found succeeded daemon pod ${namespace}/${name} on node ${node}, will try to delete it`;
      if (isFailed) this.#loop.event(set, "Warning", "FailedDaemonPod", message);
      else this.#loop.event(set, "Normal", "SucceededDaemonPod", message);
    }
    return { due, wait };
  }

  async #carryOut(set: DaemonSet, plan: Pick<DaemonPlan, "create" | "delete">, hash: string, signal: AbortSignal) {
    const { uid = "" } = set.metadata;
    const nodes = plan.create.slice(0, BURST);
    this.#expectations.expectCreations(uid, nodes.length);
    let made = 0;
    const { error } = await slowStart(nodes.length, async (index) => {
      const pod = forgeDaemonPod(set, nodes[index] ?? "", hash);
      if ((await this.#control.create(set, pod, signal)) !== undefined) made++;
    });
    for (let i = made; i < nodes.length; i++) this.#expectations.creationObserved(uid);
    await this.#remove(set, plan.delete.slice(0, BURST), signal);
    if (error !== undefined) throw error;
  }

  async #remove(set: DaemonSet, pods: readonly Pod[], signal: AbortSignal): Promise<void> {
    if (pods.length === 0) return;
    const { uid = "" } = set.metadata;
    const uids = pods.map(({ metadata }) => metadata.uid ?? "");
    this.#expectations.expectDeletions(uid, uids);
    const results = await Promise.allSettled(pods.map((pod) => this.#control.delete(set, pod, signal)));
    results.forEach((result, i) => {
      if (result.status === "rejected" || !result.value) this.#expectations.deletionObserved(uid, uids[i] ?? "");
    });
    const failed = results.find((result) => result.status === "rejected");
    if (failed !== undefined) throw failed.reason;
  }
}

function byTarget(pods: readonly Pod[]): Map<string, Pod[]> {
  const found = new Map<string, Pod[]>();
  for (const pod of pods) {
    const node = targetNode(pod);
    // One that has ended and is going makes room at once.
    if (node === undefined || (isPodTerminating(pod) && isPodFinished(pod))) continue;
    found.set(node, [...(found.get(node) ?? []), pod]);
  }
  return found;
}
