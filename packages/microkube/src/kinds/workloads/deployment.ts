import type { IDeployment } from "kubernetes-models/apps/v1/Deployment";
import type { FieldError } from "../../field-error.ts";
import { forbiddenField, invalidField, notSupported } from "../../field-error.ts";
import { columnsOf, containerColumns, text, wide } from "../columns.ts";
import { type DraftObject, defineResource } from "../kind.ts";
import { defaultPodTemplate } from "../pod/pod-template.ts";
import { templateWarnings } from "../pod/pod-warnings.ts";
import { immutable, sameMeaning } from "../values/equality.ts";
import { type LabelSelector, selectorText } from "../values/label-selector.ts";
import {
  countOf,
  nonNegative,
  percentOf,
  validateAtMostHundredPercent,
  validateCountOrPercent,
} from "../values/number.ts";
import { validateCollisions, validateCounts, validateSelection } from "./replicas.ts";
import { scaleView } from "./scale.ts";

type Deployment = DraftObject<IDeployment>;
type Spec = NonNullable<Deployment["spec"]>;

export const deployment = defineResource<IDeployment>({
  group: "apps",
  kind: "Deployment",
  hasStatus: true,
  generation: (object, old) =>
    !sameMeaning(object.spec, old.spec) || !sameMeaning(object.metadata.annotations, old.metadata.annotations),
  default({ spec }) {
    if (spec === undefined) return;
    spec.template ??= {};
    defaultPodTemplate(spec.template);
    spec.replicas ??= 1;
    spec.strategy ??= {};
    spec.strategy.type ||= "RollingUpdate";
    if (spec.strategy.type === "RollingUpdate") {
      spec.strategy.rollingUpdate ??= {};
      spec.strategy.rollingUpdate.maxUnavailable ??= "25%";
      spec.strategy.rollingUpdate.maxSurge ??= "25%";
    }
    spec.revisionHistoryLimit ??= 10;
    spec.progressDeadlineSeconds ??= 600;
  },
  validate: ({ spec }) => validateSpec(spec ?? {}),
  validateUpdate: ({ spec = {} }, { spec: before = {} }) => [
    ...validateSpec(spec),
    ...immutable(spec.selector, before.selector, "spec.selector"),
  ],
  validateStatus: ({ status }, { status: before }) => [
    ...validateCounts(status, [
      "updatedReplicas",
      "readyReplicas",
      "availableReplicas",
      "unavailableReplicas",
      "terminatingReplicas",
    ]),
    ...validateCollisions(status?.collisionCount, before?.collisionCount),
  ],
  warnings: ({ spec }, old) =>
    old === undefined || !sameMeaning(spec?.template, old.spec?.template) ? templateWarnings(spec?.template) : [],
  subresources: { scale: scaleView((object) => selectorText((object as Deployment).spec?.selector as LabelSelector)) },
  columns: columnsOf<IDeployment>(
    text("Ready", ({ spec, status }) => `${status?.readyReplicas ?? 0}/${spec?.replicas ?? 0}`),
    text("Up-to-date", ({ status }) => status?.updatedReplicas ?? 0),
    text("Available", ({ status }) => status?.availableReplicas ?? 0),
    ...containerColumns<IDeployment>(({ spec }) => spec?.template?.spec),
    wide(text("Selector", ({ spec }) => selectorText(spec?.selector as LabelSelector))),
  ),
});

function validateSpec(spec: Spec): FieldError[] {
  const errors = nonNegative(spec.replicas, "spec.replicas");
  errors.push(...validateSelection(spec, { empty: "deployment", deadline: "ReplicaSet" }));
  errors.push(...validateStrategy(spec), ...nonNegative(spec.minReadySeconds, "spec.minReadySeconds"));
  errors.push(...nonNegative(spec.revisionHistoryLimit, "spec.revisionHistoryLimit"));
  const { progressDeadlineSeconds: deadline } = spec;
  if (deadline === undefined) return errors;
  errors.push(...nonNegative(deadline, "spec.progressDeadlineSeconds"));
  if (deadline > (spec.minReadySeconds ?? 0)) return errors;
  return [...errors, invalidField("spec.progressDeadlineSeconds", deadline, "must be greater than minReadySeconds")];
}

function validateStrategy({ strategy = {} }: Spec): FieldError[] {
  const { type = "", rollingUpdate } = strategy;
  const path = "spec.strategy.rollingUpdate";
  if (type === "Recreate") {
    if (rollingUpdate === undefined) return [];
    return [forbiddenField(path, "may not be specified when strategy `type` is 'Recreate'")];
  }
  if (type !== "RollingUpdate") {
    const value = { Type: type, RollingUpdate: rollingUpdate ?? null };
    return [notSupported("spec.strategy", value, ["Recreate", "RollingUpdate"])];
  }
  const { maxUnavailable, maxSurge } = rollingUpdate ?? {};
  const errors = [
    ...validateCountOrPercent(maxUnavailable, `${path}.maxUnavailable`),
    ...validateCountOrPercent(maxSurge, `${path}.maxSurge`),
  ];
  if (isNone(maxUnavailable) && isNone(maxSurge)) {
    errors.push(invalidField(`${path}.maxUnavailable`, maxUnavailable, "may not be 0 when `maxSurge` is 0"));
  }
  return [...errors, ...validateAtMostHundredPercent(maxUnavailable, `${path}.maxUnavailable`)];
}

/** Whether it is nothing, as a number or as a percentage. */
export function isNone(value: number | string | undefined): boolean {
  return (percentOf(value) ?? countOf(value, 1, "up")) === 0;
}
