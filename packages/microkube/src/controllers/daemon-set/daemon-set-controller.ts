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
import { RevisionHistory } from "../history/revision-history.ts";
import { isEmptySelector, selects } from "../label-selector.ts";
import { again, Loop } from "../loop.ts";
import { controllerIndex } from "../ownership.ts";
import { sameValue } from "../same-value.ts";
import { writeStatus } from "../status-writer.ts";
import { OwnedPods } from "../workload/owned-pods.ts";
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
  return loop.hears(pods, controller.owned.observer()).reconciles({
    sources: [
      watches(sets),
      watches(pods, (pod) => controller.owned.ownersOf(pod)),
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
  readonly owned: OwnedPods<DaemonSet>;
  readonly #means: ControlMeans;
  readonly #loop: Loop;
  readonly #caches: Caches;
  readonly #history: RevisionHistory<DaemonSet>;
  /** When a pod that ends by itself may be replaced again, by set and node. */
  readonly #failures = new Map<string, { count: number; until: number }>();

  constructor(means: ControlMeans, loop: Loop, caches: Caches) {
    this.#means = means;
    this.#loop = loop;
    this.#caches = caches;
    const { sets, pods, revisions } = caches;
    this.owned = new OwnedPods({
      means,
      teller: loop,
      kind: DaemonSet,
      owners: sets,
      pods,
      selects: ({ spec }, { metadata }) => selects(spec?.selector, metadata.labels),
    });
    this.#history = new RevisionHistory({ client: means.client, kind: DaemonSet, revisions, hashLabel: REVISION_HASH });
  }

  async reconcile(request: Request, signal: AbortSignal): Promise<Result> {
    const set = this.#caches.sets.get(request);
    if (set?.spec === undefined || isBeingDeleted(set)) return { type: "done" };
    if (isEmptySelector(set.spec.selector)) {
      const message = "This daemon set is selecting all pods. A non-empty selector is required.";
      this.#loop.event(set, "Warning", "SelectingAll", message);
      return { type: "done" };
    }
    const isSettled = this.owned.expectations.satisfied(set.metadata.uid ?? "");
    const known = await this.#history.claim(set, signal);
    const present = await this.#history.present(set, known, set.status?.collisionCount ?? 0, signal);
    const hash = present.update.metadata.labels?.[REVISION_HASH] ?? "";
    const pods = await this.owned.claim(set, signal);
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
    const nodes = plan.create.slice(0, BURST);
    const forge = (index: number) => forgeDaemonPod(set, nodes[index] ?? "", hash);
    const created = await this.owned.create(set, nodes.length, forge, signal);
    const deleted = await this.owned.delete(set, plan.delete.slice(0, BURST), signal);
    const error = deleted.error ?? created.error;
    if (error !== undefined) throw error;
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
