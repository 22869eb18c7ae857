import type { FieldError } from "../../field-error.ts";
import { invalidField, required } from "../../field-error.ts";
import { nonNegative } from "../values/number.ts";
import type { Job } from "./job.ts";
import { countIndexes } from "./job-indexes.ts";

/** What a job controller may report: counts only grow, and an end stays an end. */
export function validateJobStatus(job: Job, old: Job): FieldError[] {
  return [...validateItself(job), ...validateChange(job, old)];
}

const is = ({ status }: Job, type: string): boolean =>
  status?.conditions?.some((one) => one.type === type && one.status === "True") ?? false;

/** The real server shows no value here. */
const conditions = (detail: string): FieldError => invalidField("status.conditions", undefined, detail);

function validateItself(job: Job): FieldError[] {
  const { status = {}, spec = {} } = job;
  const errors = (["active", "succeeded", "failed", "ready", "terminating"] as const).flatMap((field) =>
    nonNegative(status[field], `status.${field}`),
  );
  const [complete, failed] = [is(job, "Complete"), is(job, "Failed")];
  if (complete && failed) errors.push(conditions("cannot set Complete=True and Failed=true conditions"));
  if (complete && is(job, "FailureTarget")) {
    errors.push(conditions("cannot set Complete=True and FailureTarget=true conditions"));
  }
  const { completionTime, startTime, active = 0, ready = 0, terminating = 0 } = status;
  if (completionTime && !complete) {
    const text = "cannot set completionTime when there is no Complete=True condition";
    errors.push(invalidField("status.completionTime", completionTime, text));
  }
  if (!completionTime && complete) {
    errors.push(required("status.completionTime", "completionTime is required for Complete jobs"));
  }
  if (startTime && completionTime && Date.parse(completionTime) < Date.parse(startTime)) {
    errors.push(invalidField("status.completionTime", completionTime, "must be equal to or after `startTime`"));
  }
  if (failed && !is(job, "FailureTarget")) {
    errors.push(conditions("cannot set Failed=True condition without the FailureTarget=true condition"));
  }
  if (complete && !is(job, "SuccessCriteriaMet")) {
    errors.push(conditions("cannot set Complete=True condition without the SuccessCriteriaMet=true condition"));
  }
  if (complete || failed) {
    if (active > 0) errors.push(invalidField("status.active", active, "active>0 is invalid for finished job"));
    if (!startTime) errors.push(required("status.startTime", "startTime is required for finished job"));
    if (terminating > 0) {
      errors.push(invalidField("status.terminating", terminating, "terminating>0 is invalid for finished job"));
    }
  }
  if (ready > active) errors.push(invalidField("status.ready", ready, "cannot set more ready pods than active"));
  const indexes = status.completedIndexes ?? "";
  if (indexes !== "" && spec.completionMode !== "Indexed") {
    const text = "cannot set non-empty completedIndexes when non-indexed completion mode";
    errors.push(invalidField("status.completedIndexes", indexes, text));
  } else if (spec.completions !== undefined) {
    const found = countIndexes(indexes, spec.completions);
    if (typeof found === "string") {
      errors.push(invalidField("status.completedIndexes", indexes, `error parsing completedIndexes: ${found}`));
    }
  }
  if (is(job, "SuccessCriteriaMet") && failed) {
    errors.push(conditions("cannot set SuccessCriteriaMet=True and Failed=true conditions"));
  }
  return errors;
}

function validateChange(job: Job, old: Job): FieldError[] {
  const errors: FieldError[] = [];
  const { status = {} } = job;
  const { status: before = {} } = old;
  for (const type of ["Failed", "Complete", "FailureTarget"]) {
    if (is(old, type) && !is(job, type)) errors.push(conditions(`cannot disable the terminal ${type}=True condition`));
  }
  for (const field of ["failed", "succeeded"] as const) {
    if ((status[field] ?? 0) >= (before[field] ?? 0)) continue;
    errors.push(invalidField(`status.${field}`, status[field] ?? 0, `cannot decrease the ${field} counter`));
  }
  if (status.completionTime && before.completionTime && status.completionTime !== before.completionTime) {
    errors.push(invalidField("status.completionTime", status.completionTime, "field is immutable"));
  }
  if (before.startTime && before.startTime !== status.startTime && job.spec?.suspend !== true) {
    const text = "field is immutable for unsuspended job once set";
    errors.push(invalidField("status.startTime", status.startTime, text));
  }
  return errors;
}
