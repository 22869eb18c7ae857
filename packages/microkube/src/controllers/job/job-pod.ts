import { Job, type Pod } from "@fjord/kube";
import { forgePod } from "../workload/pod-forge.ts";
import { isPodTerminating, type PodSpec, podCondition, timeOf } from "../workload/pod-state.ts";

export const TRACKING = "batch.kubernetes.io/job-tracking";
export const INDEX = "batch.kubernetes.io/job-completion-index";
const FAILURES = "batch.kubernetes.io/job-index-failure-count";
const IGNORED = "batch.kubernetes.io/job-index-ignored-failure-count";
const LONGEST_PREFIX = 57;

export type JobSpec = NonNullable<Job["spec"]>;
export type JobStatus = NonNullable<Job["status"]>;
export type JobCondition = NonNullable<JobStatus["conditions"]>[number];

export function isIndexed({ spec }: Job): boolean {
  return spec?.completionMode === "Indexed";
}

export function hasLimitPerIndex(job: Job): boolean {
  return isIndexed(job) && job.spec?.backoffLimitPerIndex !== undefined;
}

export function indexOf({ metadata }: Pod): number | undefined {
  const text = metadata.annotations?.[INDEX];
  return text !== undefined && /^\d+$/.test(text) ? Number(text) : undefined;
}

export function isTracked({ metadata }: Pod): boolean {
  return metadata.finalizers?.includes(TRACKING) ?? false;
}

/** What a pod counts as: with a failure policy, or where only failed pods are replaced, one that is going runs still. */
export function isFailed(pod: Pod, { spec }: Job): boolean {
  if (pod.status?.phase === "Failed") return true;
  if (spec?.podReplacementPolicy === "Failed" || spec?.podFailurePolicy !== undefined) return false;
  return isPodTerminating(pod) && pod.status?.phase !== "Succeeded";
}

export function isSucceeded({ status }: Pod): boolean {
  return status?.phase === "Succeeded";
}

/** How often the index of this pod had failed before it. */
export function failuresBefore({ metadata }: Pod): { counted: number; ignored: number } {
  const read = (name: string) => Number(metadata.annotations?.[name] ?? 0) || 0;
  return { counted: read(FAILURES), ignored: read(IGNORED) };
}

/** When a pod ended, as well as it can be told. */
export function finishedAt(pod: Pod): number {
  const ends = (pod.status?.containerStatuses ?? []).map(({ state }) => timeOf(state?.terminated?.finishedAt));
  if (ends.length > 0 && ends.every((end) => end !== undefined)) return Math.max(...ends);
  const ready = podCondition(pod, "Ready");
  const readyEnd = ready?.status === "False" ? timeOf(ready.lastTransitionTime) : undefined;
  if (readyEnd !== undefined) return readyEnd;
  const { deletionTimestamp, deletionGracePeriodSeconds = 0, creationTimestamp } = pod.metadata;
  const deleted = timeOf(deletionTimestamp);
  return deleted !== undefined ? deleted - deletionGracePeriodSeconds * 1000 : (timeOf(creationTimestamp) ?? 0);
}

/** A pod of the Job, and of an index where it has them. */
export function forgeJobPod(job: Job, index?: number, failures?: { counted: number; ignored: number }): Pod {
  const pod = forgePod(job.spec?.template ?? {}, Job, job);
  const finalizers = [...new Set([...(pod.metadata.finalizers ?? []), TRACKING])];
  if (index === undefined) return { ...pod, metadata: { ...pod.metadata, finalizers } };
  const { name = "" } = job.metadata;
  const suffix = `-${index}-`;
  const annotations = {
    ...pod.metadata.annotations,
    [INDEX]: String(index),
    ...(failures && { [FAILURES]: String(failures.counted) }),
    ...(failures && failures.ignored > 0 && { [IGNORED]: String(failures.ignored) }),
  };
  return {
    ...pod,
    metadata: {
      ...pod.metadata,
      generateName: `${name.slice(0, LONGEST_PREFIX - suffix.length)}${suffix}`,
      labels: { ...pod.metadata.labels, [INDEX]: String(index) },
      annotations,
      finalizers,
    },
    spec: withIndex(pod.spec, `${name}-${index}`),
  };
}

function withIndex(spec: PodSpec | undefined, hostname: string): PodSpec {
  const variable = {
    name: "JOB_COMPLETION_INDEX",
    valueFrom: { fieldRef: { fieldPath: `metadata.labels['${INDEX}']` } },
  };
  type Container = NonNullable<PodSpec["containers"]>[number];
  const add = (container: Container): Container =>
    container.env?.some(({ name }) => name === variable.name)
      ? container
      : { ...container, env: [...(container.env ?? []), variable] };
  return {
    ...spec,
    containers: (spec?.containers ?? []).map(add),
    ...(spec?.initContainers && { initContainers: spec.initContainers.map(add) }),
    hostname: hostname.slice(0, 63),
  };
}
