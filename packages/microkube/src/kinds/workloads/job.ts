import type { IJob } from "kubernetes-models/batch/v1/Job";
import type { FieldError } from "../../field-error.ts";
import { invalidField, required } from "../../field-error.ts";
import { columnsOf, containerColumns, text, wide } from "../columns.ts";
import { type DraftObject, defineResource } from "../kind.ts";
import { defaultPodTemplate, type PodTemplate } from "../pod/pod-template.ts";
import { templateWarnings } from "../pod/pod-warnings.ts";
import { humanDuration } from "../values/duration.ts";
import { byKey, immutable, sameMeaning } from "../values/equality.ts";
import { type LabelSelector, selectorText, selects, validateLabelSelector } from "../values/label-selector.ts";
import { dnsLabel } from "../values/name.ts";
import { type JobSpec, validateJobSpec } from "./job-spec.ts";
import { validateJobStatus } from "./job-status.ts";

export type Job = DraftObject<IJob>;
const nameLabels = ["job-name", "batch.kubernetes.io/job-name"];
const uidLabels = ["controller-uid", "batch.kubernetes.io/controller-uid"];

export const job = defineResource<IJob>({
  group: "batch",
  kind: "Job",
  hasStatus: true,
  generation: "spec",
  // Of the first version it is so, whatever else is usual by now.
  defaultPropagation: "Orphan",
  default({ spec, metadata }) {
    if (spec === undefined) return;
    spec.template ??= {};
    defaultPodTemplate(spec.template);
    const labels = spec.template?.metadata?.labels as Record<string, string> | undefined;
    if (labels !== undefined && Object.keys(metadata.labels ?? {}).length === 0) metadata.labels = { ...labels };
    defaultJobSpec(spec);
  },
  prepareCreate(object) {
    if (object.spec !== undefined && object.spec.manualSelector !== true) generateSelector(object);
  },
  validate(object) {
    const { metadata, spec = {} } = object;
    const errors = [...validateGenerated(object), ...validateWithSelector(spec)];
    const { completionMode, completions = 0 } = spec;
    if (completionMode === "Indexed" && completions > 0) {
      const hostname = `${metadata.name}-${completions - 1}`;
      if (dnsLabel(hostname).length > 0) {
        const why = `will not able to create pod with invalid DNS label: ${hostname}`;
        errors.push(invalidField("metadata.name", metadata.name, why));
      }
    }
    return errors;
  },
  validateUpdate: (object, old) => [...validateWithSelector(object.spec ?? {}), ...validateChange(object, old)],
  validateStatus: validateJobStatus,
  warnings({ metadata, spec }, old) {
    if (old !== undefined) return [];
    const texts = dnsLabel(metadata.name ?? "");
    const name =
      texts.length === 0
        ? []
        : [
            `metadata.name: this is used in Pod names and hostnames, which can result in surprising behavior; a DNS label is recommended: [${texts.join(" ")}]`,
          ];
    return [...name, ...templateWarnings(spec?.template)];
  },
  selectableFields: { "status.successful": ({ status }) => String(status?.succeeded ?? 0) },
  columns: columnsOf<IJob>(
    text("Status", (object) => statusText(object)),
    text("Completions", ({ spec, status }) => {
      const done = status?.succeeded ?? 0;
      if (spec?.completions !== undefined) return `${done}/${spec.completions}`;
      return (spec?.parallelism ?? 0) > 1 ? `${done}/1 of ${spec?.parallelism}` : `${done}/1`;
    }),
    text("Duration", ({ status }, now) => {
      if (!status?.startTime) return "";
      const end = status.completionTime ? Date.parse(status.completionTime) : now;
      return humanDuration(end - Date.parse(status.startTime));
    }),
    ...containerColumns<IJob>(({ spec }) => spec?.template?.spec),
    wide(text("Selector", ({ spec }) => selectorText(spec?.selector as LabelSelector))),
  ),
});

export function defaultJobSpec(spec: JobSpec): void {
  if (spec.completions === undefined && spec.parallelism === undefined) spec.completions = 1;
  spec.parallelism ??= 1;
  spec.backoffLimit ??= spec.backoffLimitPerIndex === undefined ? 6 : 2 ** 31 - 1;
  spec.completionMode ??= "NonIndexed";
  spec.suspend ??= false;
  spec.podReplacementPolicy ??= spec.podFailurePolicy === undefined ? "TerminatingOrFailed" : "Failed";
  spec.manualSelector ??= false;
  defaultFailurePolicy(spec);
}

export function defaultFailurePolicy({ podFailurePolicy }: JobSpec): void {
  for (const { onPodConditions = [] } of podFailurePolicy?.rules ?? []) {
    for (const pattern of onPodConditions) pattern.status ||= "True";
  }
}

/** A job's pods are found by its uid, unless its maker has other plans. */
function generateSelector({ metadata, spec = {} }: Job): void {
  const labels: Record<string, string> = { ...(spec.template?.metadata?.labels as Record<string, string> | undefined) };
  for (const label of nameLabels) labels[label] ??= metadata.name ?? "";
  for (const label of uidLabels) labels[label] ??= metadata.uid ?? "";
  spec.template = { ...spec.template, metadata: { ...spec.template?.metadata, labels } } as PodTemplate;
  if (Object.keys(metadata.labels ?? {}).length === 0) metadata.labels = { ...labels };
  const selector = (spec.selector ?? {}) as LabelSelector;
  const matchLabels = { ...selector.matchLabels };
  matchLabels["batch.kubernetes.io/controller-uid"] ??= metadata.uid ?? "";
  spec.selector = { ...selector, matchLabels } as NonNullable<JobSpec["selector"]>;
}

function validateGenerated({ metadata, spec = {} }: Job): FieldError[] {
  if (spec.manualSelector || spec.selector === undefined) return [];
  const labels = (spec.template?.metadata?.labels ?? {}) as Record<string, string>;
  const wanted = [
    ["controller-uid", metadata.uid],
    ["job-name", metadata.name],
    ["batch.kubernetes.io/controller-uid", metadata.uid],
    ["batch.kubernetes.io/job-name", metadata.name],
  ] as const;
  const errors: FieldError[] = [];
  for (const [label, value = ""] of wanted) {
    const path = `spec.template.metadata.labels[${label}]`;
    if (labels[label] === undefined) errors.push(required(path, `must be '${value}'`));
    else if (labels[label] !== value) errors.push(invalidField(path, labels, `must be '${value}'`));
  }
  const expected = Object.fromEntries(wanted.map(([label, value = ""]) => [label, value]));
  if (!selects(spec.selector as LabelSelector, expected)) {
    errors.push(invalidField("spec.selector", spec.selector, "`selector` not auto-generated"));
  }
  return errors;
}

function validateWithSelector(spec: JobSpec): FieldError[] {
  const errors = validateJobSpec(spec, "spec");
  const selector = spec.selector as LabelSelector | undefined;
  if (selector === undefined) errors.push(required("spec.selector"));
  const wrong = validateLabelSelector(selector, "spec.selector");
  const labels = spec.template?.metadata?.labels as Record<string, string> | undefined;
  if (wrong.length === 0 && !selects(selector, labels ?? {})) {
    const why = "`selector` does not match template `labels`";
    errors.push(invalidField("spec.template.metadata.labels", byKey(labels), why));
  }
  return [...errors, ...wrong];
}

function validateChange({ spec = {} }: Job, { spec: before = {}, status }: Job): FieldError[] {
  const errors = validateCompletions(spec, before);
  errors.push(...immutable(spec.selector, before.selector, "spec.selector"));
  const isIdle = before.suspend === true && status?.startTime === undefined;
  const old = isIdle ? withScheduling(before.template, spec.template) : before.template;
  errors.push(...immutable(spec.template, old, "spec.template"));
  for (const field of [
    "completionMode",
    "podFailurePolicy",
    "backoffLimitPerIndex",
    "managedBy",
    "successPolicy",
  ] as const) {
    errors.push(...immutable(spec[field], before[field], `spec.${field}`));
  }
  return errors;
}

function validateCompletions(spec: JobSpec, before: JobSpec): FieldError[] {
  if (spec.completionMode !== "Indexed") return immutable(spec.completions, before.completions, "spec.completions");
  if (spec.completions === undefined || spec.completions === before.completions) return [];
  if (spec.completions === spec.parallelism) return [];
  return [invalidField("spec.completions", spec.completions, "can only be modified in tandem with spec.parallelism")];
}

/** While a job has not begun, where and with what its pods run may be decided anew. */
function withScheduling(before: PodTemplate | undefined, now: PodTemplate | undefined): PodTemplate {
  const { nodeSelector, tolerations, schedulingGates, affinity, containers = [] } = now?.spec ?? {};
  const old = before?.spec ?? {};
  const mixed = { ...old.affinity, nodeAffinity: affinity?.nodeAffinity };
  return {
    ...before,
    metadata: now?.metadata,
    spec: {
      ...old,
      nodeSelector,
      tolerations,
      schedulingGates,
      ...(sameMeaning(mixed, {}) ? { affinity: undefined } : { affinity: mixed }),
      containers: (old.containers ?? []).map((one, i) =>
        containers[i]?.name === one.name ? { ...one, resources: containers[i]?.resources } : one,
      ),
    },
  } as PodTemplate;
}

function statusText({ metadata, status }: Job): string {
  const is = (type: string) => status?.conditions?.some((one) => one.type === type && one.status === "True");
  if (is("Complete")) return "Complete";
  if (is("Failed")) return "Failed";
  if (metadata.deletionTimestamp !== undefined) return "Terminating";
  return ["Suspended", "FailureTarget", "SuccessCriteriaMet"].find(is) ?? "Running";
}
