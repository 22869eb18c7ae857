import { apiVersionOf } from "@fjord/base";
import {
  type Cache,
  CronJob,
  controllerOf,
  isAlreadyExists,
  isBeingDeleted,
  Job,
  type Request,
  type Result,
  requestFor,
  watches,
} from "@fjord/kube";
import type { ControlLoop, ControlMeans } from "../control-loop.ts";
import { isFinished } from "../job/job-status.ts";
import { again, isNamespaceTerminating, Loop, reasonOf, unlessGone } from "../loop.ts";
import { controllerIndex, controllerReference } from "../ownership.ts";
import { writeStatus } from "../status-writer.ts";
import { timeOf, timestamp } from "../workload/pod-state.ts";
import { missedTimes } from "./missed-times.ts";
import { parseSchedule, type Schedule } from "./schedule.ts";
import { isKnownZone, zonedTimestamp } from "./zone.ts";

const SCHEDULED = "batch.kubernetes.io/cronjob-scheduled-timestamp";
type CronJobStatus = NonNullable<CronJob["status"]>;
type Reference = NonNullable<CronJobStatus["active"]>[number];

export const cronJobController: ControlLoop = (means) => {
  const loop = new Loop(means, "cronjob-controller");
  const cronJobs = loop.open(CronJob);
  const jobs = loop.open(Job, controllerIndex);
  const controller = new CronJobController(means, loop, cronJobs, jobs);
  return loop.reconciles({
    sources: [watches(cronJobs), watches(jobs, (job) => controllerOf(CronJob)(job))],
    reconcile: (request, { signal }) => controller.reconcile(request, signal),
  });
};

class CronJobController {
  readonly #means: ControlMeans;
  readonly #loop: Loop;
  readonly #cronJobs: Cache<CronJob>;
  readonly #jobs: Cache<Job>;

  constructor(means: ControlMeans, loop: Loop, cronJobs: Cache<CronJob>, jobs: Cache<Job>) {
    this.#means = means;
    this.#loop = loop;
    this.#cronJobs = cronJobs;
    this.#jobs = jobs;
  }

  async reconcile(request: Request, signal: AbortSignal): Promise<Result> {
    const cronJob = this.#cronJobs.get(request);
    if (cronJob?.spec === undefined) return { type: "done" };
    const jobs = this.#jobs.byIndex("controller", cronJob.metadata.uid ?? "");
    const status = await this.#activeStatus(cronJob, jobs, signal);
    await this.#cleanUp(cronJob, jobs, signal);
    const waitMs = await this.#start(cronJob, status, jobs, signal);
    await writeStatus(this.#means.client, CronJob, cronJob, { status }, signal);
    return waitMs === undefined ? { type: "done" } : again(waitMs);
  }

  /** Which Jobs run, as the status should say it, and when one last succeeded. */
  async #activeStatus(cronJob: CronJob, jobs: readonly Job[], signal: AbortSignal): Promise<CronJobStatus> {
    const status: CronJobStatus = { ...cronJob.status };
    const active: Reference[] = [];
    for (const reference of cronJob.status?.active ?? []) {
      const job = jobs.find(({ metadata }) => metadata.uid === reference.uid);
      if (job !== undefined && !isFinished(job)) active.push(reference);
      else if (job !== undefined) {
        const condition = job.status?.conditions?.find(({ type }) => type === "Complete" || type === "Failed");
        const message = `Saw completed job: ${reference.name}, condition: ${condition?.type}`;
        this.#loop.event(cronJob, "Normal", "SawCompletedJob", message);
      } else if (await this.#isGone(reference, signal)) {
        this.#loop.event(cronJob, "Normal", "MissingJob", `Active job went missing: ${reference.name}`);
      } else active.push(reference);
    }
    const unlisted = jobs.filter((job) => !isFinished(job) && !active.some(({ uid }) => uid === job.metadata.uid));
    // The cache may show a Job that was just made before it shows the status that says so.
    const fresh = unlisted.length > 0 ? await this.#freshStatus(cronJob, signal) : undefined;
    for (const job of unlisted) {
      const listed = fresh?.active?.find(({ uid }) => uid === job.metadata.uid);
      if (listed !== undefined) {
        active.push(listed);
        continue;
      }
      const message = `Saw a job that the controller did not create or forgot: ${job.metadata.name}`;
      this.#loop.event(cronJob, "Warning", "UnexpectedJob", message);
    }
    for (const { status: { conditions, completionTime } = {} } of jobs) {
      const isComplete = conditions?.some(({ type, status }) => type === "Complete" && status === "True");
      const before = timeOf(status.lastSuccessfulTime) ?? 0;
      if (isComplete && (timeOf(completionTime) ?? 0) > before) status.lastSuccessfulTime = completionTime;
    }
    status.active = active.length > 0 ? active : undefined;
    return status;
  }

  async #freshStatus(cronJob: CronJob, signal: AbortSignal): Promise<CronJobStatus | undefined> {
    return (await unlessGone(this.#means.client.get(CronJob, requestFor(cronJob), { signal })))?.status;
  }

  /** One that was just made may not be in the cache yet. */
  async #isGone({ name = "", namespace, uid }: Reference, signal: AbortSignal): Promise<boolean> {
    const job = await unlessGone(this.#means.client.get(Job, { name, namespace }, { signal }));
    return job?.metadata.uid !== uid;
  }

  async #cleanUp(cronJob: CronJob, jobs: readonly Job[], signal: AbortSignal): Promise<void> {
    const { successfulJobsHistoryLimit, failedJobsHistoryLimit } = cronJob.spec ?? {};
    await this.#keepLast(
      cronJob,
      jobs.filter((job) => endedAs(job, "Complete")),
      successfulJobsHistoryLimit,
      signal,
    );
    await this.#keepLast(
      cronJob,
      jobs.filter((job) => endedAs(job, "Failed")),
      failedJobsHistoryLimit,
      signal,
    );
  }

  async #keepLast(cronJob: CronJob, jobs: readonly Job[], limit: number | undefined, signal: AbortSignal) {
    if (limit === undefined) return;
    const started = ({ status, metadata }: Job) => timeOf(status?.startTime) ?? timeOf(metadata.creationTimestamp) ?? 0;
    const sorted = jobs.toSorted((a, b) => started(a) - started(b));
    for (const job of sorted.slice(0, Math.max(0, jobs.length - limit))) {
      if (!isBeingDeleted(job)) await this.#delete(cronJob, job, signal);
    }
  }

  async #delete(cronJob: CronJob, job: Job, signal: AbortSignal): Promise<void> {
    const { name, uid } = job.metadata;
    try {
      const options = { propagationPolicy: "Background" as const, preconditions: { uid }, signal };
      await unlessGone(this.#means.client.delete(Job, requestFor(job), options));
      this.#loop.event(cronJob, "Normal", "SuccessfulDelete", `Deleted job ${name}`);
    } catch (error) {
      this.#loop.event(cronJob, "Warning", "FailedDelete", `Deleted job: ${reasonOf(error)}`);
      throw error;
    }
  }

  /** Starts a Job if one is due, and gives how long it is until the next. */
  async #start(
    cronJob: CronJob,
    status: CronJobStatus,
    jobs: readonly Job[],
    signal: AbortSignal,
  ): Promise<number | undefined> {
    if (isBeingDeleted(cronJob) || cronJob.spec?.suspend) return undefined;
    const schedule = this.#scheduleOf(cronJob);
    if (schedule === undefined) return undefined;
    const now = this.#means.clock.now();
    const next = schedule.next(now);
    const untilNext = next === undefined ? undefined : next - now + 100;
    const due = this.#dueTime(cronJob, schedule, now);
    if (due === undefined) return untilNext;
    const isStarted = timeOf(cronJob.status?.lastScheduleTime) === due || jobs.some((job) => isFor(job, cronJob, due));
    if (isStarted) return untilNext;
    const { concurrencyPolicy = "Allow" } = cronJob.spec ?? {};
    if (concurrencyPolicy === "Forbid" && (status.active?.length ?? 0) > 0) {
      const message = "Not starting job because prior execution is running and concurrency policy is Forbid";
      this.#loop.event(cronJob, "Normal", "JobAlreadyActive", message);
      return untilNext;
    }
    if (concurrencyPolicy === "Replace") {
      for (const { uid } of status.active ?? []) {
        const job = jobs.find(({ metadata }) => metadata.uid === uid);
        if (job !== undefined) await this.#delete(cronJob, job, signal);
      }
      status.active = undefined;
    }
    const job = await this.#create(cronJob, due, signal);
    if (job === undefined) return untilNext;
    status.active = [...(status.active ?? []), referenceTo(job)];
    status.lastScheduleTime = timestamp(due);
    return untilNext;
  }

  #scheduleOf(cronJob: CronJob): Schedule | undefined {
    const { schedule = "", timeZone } = cronJob.spec ?? {};
    if (timeZone !== undefined && !isKnownZone(timeZone)) {
      const message = `invalid timeZone: "${timeZone}": unknown time zone ${timeZone}`;
      this.#loop.event(cronJob, "Warning", "UnknownTimeZone", message);
      return undefined;
    }
    try {
      return parseSchedule(schedule, timeZone);
    } catch (error) {
      const message = `unparseable schedule: "${schedule}" : ${reasonOf(error)}`;
      this.#loop.event(cronJob, "Warning", "UnparseableSchedule", message);
      return undefined;
    }
  }

  /** The last time that is due and not too long ago. */
  #dueTime(cronJob: CronJob, schedule: Schedule, now: number): number | undefined {
    const { startingDeadlineSeconds } = cronJob.spec ?? {};
    const created = timeOf(cronJob.metadata.creationTimestamp) ?? now;
    const earliest = timeOf(cronJob.status?.lastScheduleTime) ?? created;
    const deadline = startingDeadlineSeconds === undefined ? 0 : now - startingDeadlineSeconds * 1000;
    const { count, last } = missedTimes(schedule, Math.max(earliest, deadline), now);
    if (count > 100) {
      const message = "too many missed start times. Set or decrease .spec.startingDeadlineSeconds or check clock skew";
      this.#loop.event(cronJob, "Warning", "TooManyMissedTimes", message);
    }
    return last;
  }

  async #create(cronJob: CronJob, due: number, signal: AbortSignal): Promise<Job | undefined> {
    const { jobTemplate, timeZone = "UTC" } = cronJob.spec ?? {};
    const { labels, annotations } = jobTemplate?.metadata ?? {};
    const job: Job = {
      apiVersion: "batch/v1",
      kind: "Job",
      metadata: {
        name: jobName(cronJob, due),
        namespace: cronJob.metadata.namespace,
        ...(labels && { labels: { ...labels } }),
        annotations: { ...annotations, [SCHEDULED]: zonedTimestamp(due, timeZone) },
        ownerReferences: [controllerReference(CronJob, cronJob)],
      },
      spec: jobTemplate?.spec,
    };
    try {
      const created = await this.#means.client.create(Job, job, { signal });
      this.#loop.event(cronJob, "Normal", "SuccessfulCreate", `Created job ${created.metadata.name}`);
      return created;
    } catch (error) {
      if (isNamespaceTerminating(error) || isAlreadyExists(error)) return undefined;
      this.#loop.event(cronJob, "Warning", "FailedCreate", `Error creating job: ${reasonOf(error)}`);
      throw error;
    }
  }
}

function jobName({ metadata }: CronJob, due: number): string {
  return `${metadata.name}-${Math.floor(due / 60_000)}`;
}

function isFor({ metadata }: Job, cronJob: CronJob, due: number): boolean {
  return metadata.name === jobName(cronJob, due);
}

function endedAs({ status }: Job, type: string): boolean {
  return status?.conditions?.some((condition) => condition.type === type && condition.status === "True") ?? false;
}

function referenceTo({ metadata }: Job): Reference {
  const { name, namespace, uid, resourceVersion } = metadata;
  return { apiVersion: apiVersionOf(Job), kind: Job.kind, name, namespace, uid, resourceVersion };
}
