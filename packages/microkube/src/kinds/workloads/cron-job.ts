import type { ICronJob } from "kubernetes-models/batch/v1/CronJob";
import type { FieldError } from "../../field-error.ts";
import { invalidField, notSupported, required } from "../../field-error.ts";
import { boolean, columnsOf, containerColumns, integer, text, wide } from "../columns.ts";
import { type DraftObject, defineResource } from "../kind.ts";
import { defaultPodTemplate } from "../pod/pod-template.ts";
import { templateWarnings } from "../pod/pod-warnings.ts";
import { since } from "../values/duration.ts";
import { type LabelSelector, selectorText } from "../values/label-selector.ts";
import { nonNegative } from "../values/number.ts";
import { cronErrorText } from "./cron-schedule.ts";
import { defaultFailurePolicy } from "./job.ts";
import { validateJobSpec } from "./job-spec.ts";

type Spec = NonNullable<DraftObject<ICronJob>["spec"]>;
const policies = ["Allow", "Forbid", "Replace"];

export const cronJob = defineResource<ICronJob>({
  group: "batch",
  kind: "CronJob",
  hasStatus: true,
  generation: "spec",
  default({ spec }) {
    if (spec === undefined) return;
    spec.concurrencyPolicy ||= "Allow";
    spec.suspend ??= false;
    spec.successfulJobsHistoryLimit ??= 3;
    spec.failedJobsHistoryLimit ??= 1;
    defaultPodTemplate(spec.jobTemplate?.spec?.template);
    defaultFailurePolicy(spec.jobTemplate?.spec ?? {});
  },
  validate({ metadata, spec }) {
    const errors = validateSpec(spec ?? {}, undefined);
    if ((metadata.name ?? "").length <= 52) return errors;
    return [...errors, invalidField("metadata.name", metadata.name, "must be no more than 52 characters")];
  },
  validateUpdate: ({ spec }, old) => validateSpec(spec ?? {}, old.spec),
  warnings: ({ spec }, old) =>
    old === undefined ? templateWarnings(spec?.jobTemplate?.spec?.template, "spec.jobTemplate.spec.template") : [],
  columns: columnsOf<ICronJob>(
    text("Schedule", ({ spec }) => spec?.schedule ?? ""),
    text("Timezone", ({ spec }) => spec?.timeZone ?? "<none>"),
    boolean("Suspend", ({ spec }) => (spec?.suspend === undefined ? "<unset>" : spec.suspend ? "True" : "False")),
    integer("Active", ({ status }) => (status?.active ?? []).length),
    text("Last Schedule", ({ status }, now) =>
      status?.lastScheduleTime ? since(status.lastScheduleTime, now) : "<none>",
    ),
    ...containerColumns<ICronJob>(({ spec }) => spec?.jobTemplate?.spec?.template?.spec),
    wide(text("Selector", ({ spec }) => selectorText(spec?.jobTemplate?.spec?.selector as LabelSelector) || "<none>")),
  ),
});

function validateSpec(spec: Spec, before: Spec | undefined): FieldError[] {
  const { schedule = "", timeZone, concurrencyPolicy: policy = "" } = spec;
  const errors: FieldError[] = schedule === "" ? [required("spec.schedule")] : validateSchedule(schedule, before);
  errors.push(...nonNegative(spec.startingDeadlineSeconds, "spec.startingDeadlineSeconds"));
  if (before === undefined || before.timeZone !== timeZone) errors.push(...validateTimeZone(timeZone));
  if (policy === "") errors.push(required("spec.concurrencyPolicy"));
  else if (!policies.includes(policy)) errors.push(notSupported("spec.concurrencyPolicy", policy, policies));
  const template = spec.jobTemplate?.spec ?? {};
  errors.push(...validateJobSpec(template, "spec.jobTemplate.spec"));
  if (template.selector !== undefined) {
    const path = "spec.jobTemplate.spec.selector";
    errors.push(invalidField(path, template.selector, "`selector` will be auto-generated"));
  }
  if (template.manualSelector) {
    errors.push(notSupported("spec.jobTemplate.spec.manualSelector", true, ["nil", "false"]));
  }
  errors.push(...nonNegative(spec.successfulJobsHistoryLimit, "spec.successfulJobsHistoryLimit"));
  return [...errors, ...nonNegative(spec.failedJobsHistoryLimit, "spec.failedJobsHistoryLimit")];
}

function validateSchedule(schedule: string, before: Spec | undefined): FieldError[] {
  const text = cronErrorText(schedule);
  const errors = text === undefined ? [] : [invalidField("spec.schedule", schedule, text)];
  if (schedule.includes("TZ") && !before?.schedule?.includes("TZ")) {
    const why = "cannot use TZ or CRON_TZ in schedule, use timeZone field instead";
    errors.push(invalidField("spec.schedule", schedule, why));
  }
  return errors;
}

function validateTimeZone(zone: string | undefined): FieldError[] {
  if (zone === undefined) return [];
  const wrong = (detail: string) => [invalidField("spec.timeZone", zone, detail)];
  if (zone === "") return wrong("timeZone must be nil or non-empty string");
  if (zone.toLowerCase() === "local") {
    return wrong("timeZone must be an explicit time zone as defined in https://www.iana.org/time-zones");
  }
  try {
    new Intl.DateTimeFormat("en", { timeZone: zone });
    return [];
  } catch {
    return wrong(`unknown time zone ${zone}`);
  }
}
