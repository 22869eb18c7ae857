import {
  type Cache,
  isBeingDeleted,
  isNotFound,
  Job,
  Pod,
  type Request,
  type Result,
  requestFor,
  watches,
} from "@fjord/kube";
import type { ControlLoop, ControlMeans } from "../control-loop.ts";
import { selects } from "../label-selector.ts";
import { again, Loop } from "../loop.ts";
import { controllerIndex, controllerReferenceOf, refersTo } from "../ownership.ts";
import { writeStatus } from "../status-writer.ts";
import { OwnedPods } from "../workload/owned-pods.ts";
import { timestamp } from "../workload/pod-state.ts";
import { type JobPlan, lastFailures, planJob, type Setbacks, setbacks } from "./job-plan.ts";
import {
  forgeJobPod,
  hasLimitPerIndex,
  indexOf,
  isFailed,
  isIndexed,
  isSucceeded,
  isTracked,
  type JobCondition,
  type JobStatus,
  TRACKING,
} from "./job-pod.ts";
import { countedStatus, isFinished, lastCondition, suspension, withCondition } from "./job-status.ts";
import {
  type Fresh,
  freshPods,
  isComplete,
  success,
  type Tally,
  tally,
  untilDeadline,
  verdictOf,
} from "./job-verdict.ts";
import { failureOf } from "./policies.ts";

/** So many pods are let go of between two writes of the status. */
const MOST_UNCOUNTED = 500;
const OWN = "kubernetes.io/job-controller";

export const jobController: ControlLoop = (means) => {
  const loop = new Loop(means, "job-controller");
  const jobs = loop.open(Job);
  const pods = loop.open(Pod, controllerIndex);
  const controller = new JobController(means, loop, jobs, pods);
  return loop
    .hears(pods, controller.owned.observer())
    .hears(pods, {
      onAdd: (pod) => controller.saw(pod),
      onUpdate: (_, pod) => controller.saw(pod),
      onDelete: (pod) => controller.sawGone(pod),
    })
    .hears(jobs, { onDelete: (job) => controller.jobGone(job) })
    .reconciles({
      sources: [watches(jobs), watches(pods, (pod) => controller.owned.ownersOf(pod))],
      concurrency: 10,
      reconcile: (request, { signal }) => controller.reconcile(request, signal),
    })
    .reconciles(
      {
        sources: [watches(pods, { when: ({ object }) => isTracked(object) })],
        reconcile: (request, { signal }) => controller.releaseOrphan(request, signal),
      },
      "job-orphan-controller",
    );
};

class JobController {
  readonly owned: OwnedPods<Job>;
  readonly #means: ControlMeans;
  readonly #loop: Loop;
  readonly #jobs: Cache<Job>;
  readonly #pods: Cache<Pod>;
  readonly #setbacks = new Map<string, Setbacks>();
  /** Pods that were counted and let go of, by Job, until the cache shows it: they must not count twice. */
  readonly #released = new Map<string, Set<string>>();

  constructor(means: ControlMeans, loop: Loop, jobs: Cache<Job>, pods: Cache<Pod>) {
    this.#means = means;
    this.#loop = loop;
    this.#jobs = jobs;
    this.#pods = pods;
    this.owned = new OwnedPods({
      means,
      teller: loop,
      kind: Job,
      owners: jobs,
      pods,
      selects: ({ spec }, { metadata }) => selects(spec?.selector, metadata.labels),
      finalizers: [TRACKING],
    });
  }

  saw(pod: Pod): void {
    if (!isTracked(pod)) this.sawGone(pod);
  }

  sawGone(pod: Pod): void {
    const owner = controllerReferenceOf(pod)?.uid;
    if (owner !== undefined) this.#released.get(owner)?.delete(pod.metadata.uid ?? "");
  }

  jobGone({ metadata }: Job): void {
    const { uid = "" } = metadata;
    this.owned.expectations.forget(uid);
    this.#setbacks.delete(uid);
    this.#released.delete(uid);
    // Nobody will count these any more.
    for (const pod of this.#pods.byIndex("controller", uid)) {
      if (isTracked(pod)) this.#loop.enqueue(requestFor(pod), undefined, "job-orphan-controller");
    }
  }

  /** Lets go of a pod whose Job is gone, or that has lost it. */
  async releaseOrphan(request: Request, signal: AbortSignal): Promise<Result> {
    const pod = this.#pods.get(request);
    if (pod === undefined || !isTracked(pod)) return { type: "done" };
    const reference = controllerReferenceOf(pod);
    if (reference !== undefined) {
      if (!refersTo(reference, Job)) return { type: "done" };
      const job = this.#jobs.get({ name: reference.name, namespace: request.namespace });
      if (job?.metadata.uid === reference.uid && !isFinished(job)) return { type: "done" };
    }
    await this.#removeFinalizer(pod, signal);
    return { type: "done" };
  }

  async reconcile(request: Request, signal: AbortSignal): Promise<Result> {
    const job = this.#jobs.get(request);
    if (job?.spec === undefined || isFinished(job)) return { type: "done" };
    if (job.spec.managedBy !== undefined && job.spec.managedBy !== OWN) return { type: "done" };
    const { uid = "" } = job.metadata;
    const isSettled = this.owned.expectations.satisfied(uid);
    const pods = await this.owned.claim(job, signal);
    const now = this.#means.clock.now();
    const fresh = freshPods(job, pods, this.#released.get(uid) ?? new Set());
    const count = tally(job, pods, fresh);
    const before = setbacks(this.#setbacks.get(uid), fresh);
    const { verdict, plan } = this.#decide(job, pods, count, before, isSettled, now);
    const { created, removed, failure } = await this.#carryOut(job, plan, verdict === undefined, signal);
    const status = this.#statusOf(job, count, { created, removed }, verdict, now);
    await this.#track({ ...job, status }, job, pods, fresh, verdict, signal);
    if (before === undefined) this.#setbacks.delete(uid);
    else this.#setbacks.set(uid, before);
    if (failure !== undefined) throw failure;
    const times = [plan.waitMs, verdict === undefined ? untilDeadline({ ...job, status }, now) : undefined];
    const soonest = times.filter((ms) => ms !== undefined);
    return soonest.length === 0 ? { type: "done" } : again(Math.min(...soonest) + 5);
  }

  #decide(
    job: Job,
    pods: readonly Pod[],
    count: Tally,
    before: Setbacks | undefined,
    isSettled: boolean,
    now: number,
  ): { verdict: JobCondition | undefined; plan: JobPlan } {
    const verdict = verdictOf(job, pods, count, now);
    if (verdict !== undefined) return { verdict, plan: { create: [], delete: isSettled ? count.active : [] } };
    const nothing: JobPlan = { create: [], delete: [] };
    const plan = isSettled && !isBeingDeleted(job) ? planJob(job, pods, count, before, now) : nothing;
    if (plan.create.length > 0 || !isComplete(job, count)) return { verdict: undefined, plan };
    const reached = success("CompletionsReached", "Reached expected number of succeeded pods");
    return { verdict: reached, plan: { create: [], delete: isSettled ? count.active : [] } };
  }

  async #carryOut(
    job: Job,
    plan: JobPlan,
    goesOn: boolean,
    signal: AbortSignal,
  ): Promise<{ created: number; removed: number; failure?: unknown }> {
    const forge = (i: number) => {
      const { index, failures } = plan.create[i] ?? {};
      return forgeJobPod(job, index, failures);
    };
    const created = await this.owned.create(job, plan.create.length, forge, signal);
    // Pods that are not wanted while the Job goes on have not failed: nobody counts them.
    if (goesOn) await Promise.all(plan.delete.map((pod) => this.#removeFinalizer(pod, signal)));
    const deleted = await this.owned.delete(job, plan.delete, signal);
    return { created: created.made, removed: deleted.gone, failure: created.error ?? deleted.error };
  }

  #statusOf(
    job: Job,
    count: Tally,
    change: { created: number; removed: number },
    verdict: JobCondition | undefined,
    now: number,
  ): JobStatus {
    let status = countedStatus(job, count, change);
    const suspended = verdict === undefined ? suspension(job) : undefined;
    if (suspended !== undefined) {
      status = withCondition(status, suspended, now);
      const isStopped = suspended.status === "True";
      status.startTime = isStopped ? undefined : timestamp(now);
      this.#loop.event(job, "Normal", isStopped ? "Suspended" : "Resumed", suspended.message ?? "");
    }
    if (status.startTime === undefined && !job.spec?.suspend) status.startTime = timestamp(now);
    return verdict === undefined ? status : withCondition(status, verdict, now);
  }

  /**
   * Counts pods that have ended so that each counts exactly once, whatever fails in between: first they are noted in the
   * status, then let go of, and then their notes become numbers.
   */
  async #track(
    wanted: Job,
    cached: Job,
    pods: readonly Pod[],
    fresh: Fresh,
    verdict: JobCondition | undefined,
    signal: AbortSignal,
  ): Promise<void> {
    const isHeld = this.#heldPods(cached, pods, verdict);
    const noted = note(wanted, fresh, isHeld);
    const { succeeded = [], failed = [] } = noted.status.uncountedTerminatedPods ?? {};
    const uids = new Set([...succeeded, ...failed]);
    const ended = pods.filter((pod) => isTracked(pod) && (isSucceeded(pod) || isFailed(pod, cached)) && !isHeld(pod));
    const going = ended.slice(0, MOST_UNCOUNTED);
    let written: Job = cached;
    if (uids.size + going.length > 0)
      written = await writeStatus(this.#means.client, Job, cached, { status: noted.status }, signal);
    await this.#release(cached, going, signal);
    const status = this.#settle({ ...noted.status }, pods, going);
    const left = status.uncountedTerminatedPods;
    const nothingLeft = (left?.succeeded?.length ?? 0) + (left?.failed?.length ?? 0) === 0;
    const allGone = (status.active ?? 0) === 0 && (status.terminating ?? 0) === 0;
    const now = this.#means.clock.now();
    let final = status;
    if (verdict !== undefined && nothingLeft && allGone && ended.length <= MOST_UNCOUNTED) {
      const last = lastCondition(verdict);
      final = withCondition(status, last, now);
      if (last.type === "Complete") final.completionTime = timestamp(now);
    }
    await writeStatus(this.#means.client, Job, written, { status: final }, signal);
    if (final !== status) this.#tellEnd(cached, verdict);
  }

  /** The last failure of an index stays until the next try is there: it holds how often the index has failed. */
  #heldPods(job: Job, pods: readonly Pod[], verdict: JobCondition | undefined): (pod: Pod) => boolean {
    if (!hasLimitPerIndex(job) || verdict !== undefined || isBeingDeleted(job)) return () => false;
    const last = lastFailures(job, pods);
    const count = tally(job, pods, { succeeded: [], failed: [] });
    return (pod) => {
      const index = indexOf(pod);
      if (index === undefined || last.get(index) !== pod) return false;
      const isOver = count.failedIndexes.has(index) || count.succeededIndexes.has(index);
      return !isOver && !count.active.some((other) => indexOf(other) === index);
    };
  }

  /** Notes of pods that are no longer held become numbers. */
  #settle(status: JobStatus, pods: readonly Pod[], going: readonly Pod[]): JobStatus {
    const { succeeded = [], failed = [] } = status.uncountedTerminatedPods ?? {};
    const released = new Set(going.map(({ metadata }) => metadata.uid ?? ""));
    const held = new Set(
      pods.filter((pod) => isTracked(pod) && !released.has(pod.metadata.uid ?? "")).map(({ metadata }) => metadata.uid),
    );
    const stay = (uid: string) => held.has(uid);
    const next = { succeeded: succeeded.filter(stay), failed: failed.filter(stay) };
    return {
      ...status,
      succeeded: (status.succeeded ?? 0) + succeeded.length - next.succeeded.length || undefined,
      failed: (status.failed ?? 0) + failed.length - next.failed.length || undefined,
      uncountedTerminatedPods: {
        ...(next.succeeded.length > 0 && { succeeded: next.succeeded }),
        ...(next.failed.length > 0 && { failed: next.failed }),
      },
    };
  }

  async #release(job: Job, pods: readonly Pod[], signal: AbortSignal): Promise<void> {
    if (pods.length === 0) return;
    const { uid = "" } = job.metadata;
    const released = this.#released.get(uid) ?? new Set();
    this.#released.set(uid, released);
    await Promise.all(
      pods.map(async (pod) => {
        await this.#removeFinalizer(pod, signal);
        const cached = this.#pods.get(requestFor(pod));
        if (cached !== undefined && isTracked(cached)) released.add(pod.metadata.uid ?? "");
      }),
    );
  }

  async #removeFinalizer(pod: Pod, signal: AbortSignal): Promise<void> {
    const { uid } = pod.metadata;
    const patch = { metadata: { uid, "$deleteFromPrimitiveList/finalizers": [TRACKING] } };
    try {
      await this.#means.client.patch(Pod, requestFor(pod), "strategic", patch, { signal });
    } catch (error) {
      if (!isNotFound(error)) throw error;
    }
  }

  #tellEnd(job: Job, verdict: JobCondition | undefined): void {
    if (verdict?.type === "FailureTarget") {
      this.#loop.event(job, "Warning", verdict.reason ?? "", verdict.message ?? "");
    } else this.#loop.event(job, "Normal", "Completed", "Job completed");
  }
}

/** Adds pods that have just ended to those that are noted and not yet counted. */
function note(job: Job, fresh: Fresh, isHeld: (pod: Pod) => boolean): { status: JobStatus } {
  const { status = {} } = job;
  const { succeeded = [], failed = [] } = status.uncountedTerminatedPods ?? {};
  const add = (pods: readonly Pod[]) => pods.filter((pod) => !isHeld(pod)).map(({ metadata }) => metadata.uid ?? "");
  const counting = fresh.failed.filter((pod) => failureOf(job.spec?.podFailurePolicy, pod).action !== "Ignore");
  const next = {
    succeeded: isIndexed(job) ? [] : [...succeeded, ...add(fresh.succeeded)],
    failed: [...failed, ...add(counting)],
  };
  const uncountedTerminatedPods = {
    ...(next.succeeded.length > 0 && { succeeded: next.succeeded }),
    ...(next.failed.length > 0 && { failed: next.failed }),
  };
  return { status: { ...status, uncountedTerminatedPods } };
}
