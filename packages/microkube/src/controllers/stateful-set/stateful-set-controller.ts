import {
  type Cache,
  ControllerRevision,
  isAlreadyExists,
  PersistentVolumeClaim,
  Pod,
  type Request,
  type Result,
  requestFor,
  StatefulSet,
  watches,
} from "@fjord/kube";
import type { ControlLoop, ControlMeans } from "../control-loop.ts";
import { RevisionHistory, templateOf } from "../history/revision-history.ts";
import { selects } from "../label-selector.ts";
import { again, isNamespaceTerminating, Loop, reasonOf, unlessGone } from "../loop.ts";
import { controllerIndex } from "../ownership.ts";
import { slowStart } from "../slow-start.ts";
import { writeFields, writeStatus } from "../status-writer.ts";
import { OwnedPods } from "../workload/owned-pods.ts";
import { isPodTerminating, untilAvailable } from "../workload/pod-state.ts";
import { claimOwners } from "./claim-owners.ts";
import { planPods, type Revisions, statefulStatus } from "./stateful-plan.ts";
import { forgeClaims, forgeStatefulPod, ordinalOf, revisionOf } from "./stateful-pod.ts";

export const statefulSetController: ControlLoop = (means) => {
  const loop = new Loop(means, "statefulset-controller");
  const sets = loop.open(StatefulSet);
  const pods = loop.open(Pod, controllerIndex);
  const revisions = loop.open(ControllerRevision, controllerIndex);
  const claims = loop.open(PersistentVolumeClaim);
  const controller = new StatefulSetController(means, loop, { sets, pods, revisions, claims });
  return loop.hears(pods, controller.owned.observer()).reconciles({
    sources: [watches(sets), watches(pods, (pod) => controller.owned.ownersOf(pod))],
    reconcile: (request, { signal }) => controller.reconcile(request, signal),
  });
};

interface Caches {
  readonly sets: Cache<StatefulSet>;
  readonly pods: Cache<Pod>;
  readonly revisions: Cache<ControllerRevision>;
  readonly claims: Cache<PersistentVolumeClaim>;
}

class StatefulSetController {
  readonly owned: OwnedPods<StatefulSet>;
  readonly #means: ControlMeans;
  readonly #loop: Loop;
  readonly #caches: Caches;
  readonly #history: RevisionHistory<StatefulSet>;

  constructor(means: ControlMeans, loop: Loop, caches: Caches) {
    this.#means = means;
    this.#loop = loop;
    this.#caches = caches;
    const { sets, pods, revisions } = caches;
    this.owned = new OwnedPods({
      means,
      teller: loop,
      kind: StatefulSet,
      owners: sets,
      pods,
      selects: (set, pod) => ordinalOf(pod, set) !== undefined && selects(set.spec?.selector, pod.metadata.labels),
    });
    const hashLabel = "controller.kubernetes.io/hash";
    this.#history = new RevisionHistory({ client: means.client, kind: StatefulSet, revisions, hashLabel });
  }

  async reconcile(request: Request, signal: AbortSignal): Promise<Result> {
    const set = this.#caches.sets.get(request);
    if (set?.spec === undefined) return { type: "done" };
    const isSettled = this.owned.expectations.satisfied(set.metadata.uid ?? "");
    const pods = await this.owned.claim(set, signal);
    const known = await this.#history.claim(set, signal);
    const { all, update, collisions } = await this.#history.present(
      set,
      known,
      set.status?.collisionCount ?? 0,
      signal,
    );
    const current = all.find(({ metadata }) => metadata.name === set.status?.currentRevision) ?? update;
    const names: Revisions = { current: current.metadata.name ?? "", update: update.metadata.name ?? "" };
    const now = this.#means.clock.now();
    let failure: unknown;
    if (isSettled) {
      try {
        await this.#act(set, pods, names, { current, update }, now, signal);
      } catch (error) {
        failure = error;
      }
    }
    const status = statefulStatus(set, pods, names, collisions, now);
    await writeStatus(this.#means.client, StatefulSet, set, { status }, signal);
    if (failure !== undefined) throw failure;
    const live = new Set([names.current, names.update, ...pods.map(revisionOf)]);
    await this.#history.truncate(set, all, live, signal);
    const left = untilAvailable(pods, set.spec.minReadySeconds ?? 0, now);
    return left === undefined ? { type: "done" } : again(left);
  }

  async #act(
    set: StatefulSet,
    pods: readonly Pod[],
    names: Revisions,
    revisions: { current: ControllerRevision; update: ControllerRevision },
    now: number,
    signal: AbortSignal,
  ): Promise<void> {
    await this.#alignClaims(set, pods, signal);
    const plan = planPods(set, pods, names, now);
    const { error } = await slowStart(plan.create.length, async (index) => {
      const { ordinal, revision } = plan.create[index] ?? { ordinal: 0, revision: names.update };
      const template = templateOf(revision === names.current ? revisions.current : revisions.update);
      await this.#create(set, forgeStatefulPod(set, template, revision, ordinal), ordinal, signal);
    });
    if (error !== undefined) throw error;
    for (const pod of plan.delete) await this.#delete(set, pod, signal);
  }

  async #create(set: StatefulSet, pod: Pod, ordinal: number, signal: AbortSignal): Promise<void> {
    const { uid = "" } = set.metadata;
    await this.#createClaims(set, pod, ordinal, signal);
    this.owned.expectations.expectCreations(uid, 1);
    try {
      await this.#means.client.create(Pod, pod, { signal });
      this.#tell(set, "Normal", "create", pod);
    } catch (error) {
      this.owned.expectations.creationObserved(uid);
      if (isAlreadyExists(error) || isNamespaceTerminating(error)) return;
      if (!signal.aborted) this.#tell(set, "Warning", "create", pod, error);
      throw error;
    }
  }

  async #createClaims(set: StatefulSet, pod: Pod, ordinal: number, signal: AbortSignal): Promise<void> {
    for (const wanted of forgeClaims(set, ordinal)) {
      const { name } = wanted.metadata;
      const found = this.#caches.claims.get(requestFor(wanted));
      if (found !== undefined) {
        if (found.metadata.deletionTimestamp !== undefined) throw new Error(`pvc ${name} is being deleted`);
        continue;
      }
      const about = `${name} Pod ${pod.metadata.name} in StatefulSet ${set.metadata.name}`;
      try {
        const whenDeleted = claimOwners(wanted, set, { ...pod, metadata: { ...pod.metadata, uid: "" } });
        const metadata = { ...wanted.metadata, ...(whenDeleted && { ownerReferences: whenDeleted }) };
        await this.#means.client.create(PersistentVolumeClaim, { ...wanted, metadata }, { signal });
        this.#loop.event(set, "Normal", "SuccessfulCreate", `Create Claim ${about} success`);
      } catch (error) {
        if (isAlreadyExists(error)) continue;
        const message = `Create Claim ${name} for Pod ${pod.metadata.name} in StatefulSet ${set.metadata.name} failed error: ${reasonOf(error)}`;
        this.#loop.event(set, "Warning", "FailedCreate", message);
        throw error;
      }
    }
  }

  /** Missing claims of pods that wait for them, and the owners by which claims go. */
  async #alignClaims(set: StatefulSet, pods: readonly Pod[], signal: AbortSignal): Promise<void> {
    if (!set.spec?.volumeClaimTemplates?.length || set.metadata.deletionTimestamp !== undefined) return;
    for (const pod of pods) {
      const ordinal = ordinalOf(pod, set) ?? 0;
      if (pod.status?.phase === "Pending" && !isPodTerminating(pod)) {
        await this.#createClaims(set, pod, ordinal, signal);
      }
      for (const wanted of forgeClaims(set, ordinal)) {
        const found = this.#caches.claims.get(requestFor(wanted));
        const ownerReferences = found && claimOwners(found, set, pod);
        if (found === undefined || ownerReferences === undefined) continue;
        const fields = { metadata: { ownerReferences } };
        await writeFields(this.#means.client, PersistentVolumeClaim, found, fields, signal);
      }
    }
  }

  async #delete(set: StatefulSet, pod: Pod, signal: AbortSignal): Promise<void> {
    const { uid = "" } = set.metadata;
    const podUid = pod.metadata.uid ?? "";
    this.owned.expectations.expectDeletions(uid, [podUid]);
    try {
      const preconditions = { uid: podUid };
      await unlessGone(this.#means.client.delete(Pod, requestFor(pod), { preconditions, signal }));
      this.#tell(set, "Normal", "delete", pod);
    } catch (error) {
      this.owned.expectations.deletionObserved(uid, podUid);
      if (!signal.aborted) this.#tell(set, "Warning", "delete", pod, error);
      throw error;
    }
  }

  #tell(set: StatefulSet, type: "Normal" | "Warning", verb: "create" | "delete", pod: Pod, error?: unknown): void {
    const title = verb === "create" ? "Create" : "Delete";
    const about = `${title} Pod ${pod.metadata.name} in StatefulSet ${set.metadata.name}`;
    if (type === "Normal") this.#loop.event(set, type, `Successful${title}`, `${about} successful`);
    else this.#loop.event(set, type, `Failed${title}`, `${about} failed error: ${reasonOf(error)}`);
  }
}
