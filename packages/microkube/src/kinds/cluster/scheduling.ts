import type { ILease } from "kubernetes-models/coordination.k8s.io/v1/Lease";
import type { IRuntimeClass } from "kubernetes-models/node.k8s.io/v1/RuntimeClass";
import type { IPriorityClass } from "kubernetes-models/scheduling.k8s.io/v1/PriorityClass";
import type { FieldError } from "../../field-error.ts";
import { forbiddenField, invalidField, notSupported, required } from "../../field-error.ts";
import { ageColumn, boolean, columnsOf, integer, nameColumn, text } from "../columns.ts";
import { defineResource } from "../kind.ts";
import { validateResourceRequirements } from "../pod/container-resources.ts";
import { validateTolerations } from "../pod/toleration.ts";
import { immutable } from "../values/equality.ts";
import { validateLabels } from "../values/label.ts";
import { dnsLabel } from "../values/name.ts";

const systemClasses: Readonly<Record<string, number>> = {
  "system-node-critical": 2_000_001_000,
  "system-cluster-critical": 2_000_000_000,
};
const highest = 1_000_000_000;
const policies = ["PreemptLowerPriority", "Never"];

export const priorityClass = defineResource<IPriorityClass>({
  group: "scheduling.k8s.io",
  kind: "PriorityClass",
  // It has a first generation, and no other.
  generation: () => false,
  default(object) {
    object.preemptionPolicy ??= "PreemptLowerPriority";
  },
  validate({ metadata, value = 0, globalDefault, preemptionPolicy }) {
    const errors: FieldError[] = [];
    const { name = "" } = metadata;
    if (name.startsWith("system-")) {
      const why = systemClassError(name, value, globalDefault ?? false);
      if (why !== undefined) {
        const text = `priority class names with 'system-' prefix are reserved for system use only. error: ${why}`;
        errors.push(forbiddenField("metadata.name", text));
      }
    } else if (value > highest) {
      errors.push(forbiddenField("value", `maximum allowed value of a user defined priority is ${highest}`));
    }
    if (preemptionPolicy === undefined || policies.includes(preemptionPolicy)) return errors;
    return [...errors, notSupported("preemptionPolicy", preemptionPolicy, policies)];
  },
  validateUpdate: (object, old) => [
    ...((object.value ?? 0) === (old.value ?? 0) ? [] : [forbiddenField("value", "may not be changed in an update.")]),
    ...immutable(object.preemptionPolicy, old.preemptionPolicy, "preemptionPolicy"),
  ],
  columns: [
    nameColumn(),
    integer("Value", ({ value }) => value ?? 0),
    boolean("Global-Default", ({ globalDefault }) => globalDefault ?? false),
    ageColumn(),
    text("PreemptionPolicy", ({ preemptionPolicy }) => preemptionPolicy ?? ""),
  ],
});

function systemClassError(name: string, value: number, isDefault: boolean): string | undefined {
  const known = systemClasses[name];
  if (known === undefined) return `${name} is not a known system priority class`;
  if (value !== known) return `value of ${name} PriorityClass must be ${known}`;
  return isDefault ? `globalDefault of ${name} PriorityClass must be false` : undefined;
}

export const lease = defineResource<ILease>({
  group: "coordination.k8s.io",
  kind: "Lease",
  createsOnUpdate: true,
  unconditionalUpdate: false,
  validate({ spec = {} }) {
    const { leaseDurationSeconds: duration, leaseTransitions: transitions } = spec;
    const errors: FieldError[] = [];
    if (duration !== undefined && duration <= 0) {
      errors.push(invalidField("spec.leaseDurationSeconds", duration, "must be greater than 0"));
    }
    if (transitions !== undefined && transitions < 0) {
      errors.push(invalidField("spec.leaseTransitions", transitions, "must be greater than or equal to 0"));
    }
    if (spec.preferredHolder && !spec.strategy) {
      errors.push(forbiddenField("spec.preferredHolder", "may only be specified if `strategy` is defined"));
    }
    return errors;
  },
  columns: columnsOf<ILease>(text("Holder", ({ spec }) => spec?.holderIdentity ?? "")),
});

export const runtimeClass = defineResource<IRuntimeClass>({
  group: "node.k8s.io",
  kind: "RuntimeClass",
  validate({ handler = "", overhead, scheduling }) {
    const errors: FieldError[] =
      handler === "" ? [required("handler")] : dnsLabel(handler).map((one) => invalidField("handler", handler, one));
    if (overhead !== undefined) {
      errors.push(...validateResourceRequirements({ limits: overhead.podFixed }, [], "overhead"));
    }
    const selector = scheduling?.nodeSelector as Record<string, string> | undefined;
    errors.push(...validateLabels(selector, "scheduling.nodeSelector"));
    return [...errors, ...validateTolerations(scheduling?.tolerations, "scheduling.tolerations")];
  },
  validateUpdate: ({ handler }, old) => immutable(handler, old.handler, "handler"),
  columns: columnsOf<IRuntimeClass>(text("Handler", ({ handler }) => handler ?? "")),
});
