import type { IDaemonSet } from "kubernetes-models/apps/v1/DaemonSet";
import type { FieldError } from "../../field-error.ts";
import { forbiddenField, invalidField, notSupported, required } from "../../field-error.ts";
import { columnsOf, containerColumns, integer, labelsText, text, wide } from "../columns.ts";
import { type DraftObject, defineResource } from "../kind.ts";
import { defaultPodTemplate, validatePodTemplate } from "../pod/pod-template.ts";
import { templateWarnings } from "../pod/pod-warnings.ts";
import { byKey, immutable, sameMeaning } from "../values/equality.ts";
import {
  isEmptySelector,
  type LabelSelector,
  selectorText,
  selects,
  validateLabelSelector,
} from "../values/label-selector.ts";
import { nonNegative, validateAtMostHundredPercent, validateCountOrPercent } from "../values/number.ts";
import { isNone } from "./deployment.ts";
import { validateCollisions } from "./replicas.ts";

type DaemonSet = DraftObject<IDaemonSet>;
type Spec = NonNullable<DaemonSet["spec"]>;
const generation = "deprecated.daemonset.template.generation";
const counts = [
  "currentNumberScheduled",
  "numberMisscheduled",
  "desiredNumberScheduled",
  "numberReady",
  "observedGeneration",
  "updatedNumberScheduled",
  "numberAvailable",
  "numberUnavailable",
] as const;

export const daemonSet = defineResource<IDaemonSet>({
  group: "apps",
  kind: "DaemonSet",
  hasStatus: true,
  generation: "spec",
  default({ spec }) {
    if (spec === undefined) return;
    spec.template ??= {};
    defaultPodTemplate(spec.template);
    spec.updateStrategy ??= {};
    spec.updateStrategy.type ||= "RollingUpdate";
    if (spec.updateStrategy.type === "RollingUpdate") {
      spec.updateStrategy.rollingUpdate ??= {};
      spec.updateStrategy.rollingUpdate.maxUnavailable ??= 1;
      spec.updateStrategy.rollingUpdate.maxSurge ??= 0;
    }
    spec.revisionHistoryLimit ??= 10;
  },
  prepareCreate({ metadata }) {
    const asked = Number(metadata.annotations?.[generation] ?? 0);
    const first = Number.isInteger(asked) && asked > 0 ? asked : 1;
    metadata.annotations = { ...metadata.annotations, [generation]: String(first) };
  },
  prepareUpdate(object, old) {
    const before = Number(old.metadata.annotations?.[generation] ?? 0);
    const isNew = !sameMeaning(object.spec?.template, old.spec?.template);
    const annotations = { ...object.metadata.annotations, [generation]: String(isNew ? before + 1 : before) };
    object.metadata.annotations = annotations;
  },
  validate: ({ spec }) => validateSpec(spec ?? {}),
  validateUpdate: ({ spec = {} }, { spec: before = {} }) => [
    ...immutable(spec.selector, before.selector, "spec.selector"),
    ...validateSpec(spec),
  ],
  validateStatus: ({ status }, { status: before }) => [
    ...counts.flatMap((name) => nonNegative(status?.[name], `status.${name}`)),
    ...validateCollisions(status?.collisionCount, before?.collisionCount),
  ],
  warnings: ({ spec }, old) =>
    old === undefined || !sameMeaning(spec?.template, old.spec?.template) ? templateWarnings(spec?.template) : [],
  columns: columnsOf<IDaemonSet>(
    integer("Desired", ({ status }) => status?.desiredNumberScheduled ?? 0),
    integer("Current", ({ status }) => status?.currentNumberScheduled ?? 0),
    integer("Ready", ({ status }) => status?.numberReady ?? 0),
    integer("Up-to-date", ({ status }) => status?.updatedNumberScheduled ?? 0),
    integer("Available", ({ status }) => status?.numberAvailable ?? 0),
    text("Node Selector", ({ spec }) => labelsText(spec?.template?.spec?.nodeSelector)),
    ...containerColumns<IDaemonSet>(({ spec }) => spec?.template?.spec),
    wide(text("Selector", ({ spec }) => selectorText(spec?.selector as LabelSelector))),
  ),
});

function validateSpec(spec: Spec): FieldError[] {
  const selector = spec.selector as LabelSelector | undefined;
  const template = spec.template ?? {};
  const labels = template.metadata?.labels as Record<string, string> | undefined;
  const wrong = validateLabelSelector(selector, "spec.selector");
  const errors = [...wrong];
  if (wrong.length === 0 && !selects(selector, labels ?? {})) {
    const text = "`selector` does not match template `labels`";
    errors.push(invalidField("spec.template.metadata.labels", byKey(labels), text));
  }
  if (selector !== undefined && isEmptySelector(selector)) {
    errors.push(invalidField("spec.selector", selector, "empty selector is invalid for daemonset"));
  }
  errors.push(...validatePodTemplate(template, "spec.template"));
  const { restartPolicy = "", activeDeadlineSeconds } = template.spec ?? {};
  if (restartPolicy !== "Always") {
    errors.push(notSupported("spec.template.spec.restartPolicy", restartPolicy, ["Always"]));
  }
  if (activeDeadlineSeconds !== undefined) {
    const text = "activeDeadlineSeconds in DaemonSet is not Supported";
    errors.push(forbiddenField("spec.template.spec.activeDeadlineSeconds", text));
  }
  errors.push(...nonNegative(spec.minReadySeconds, "spec.minReadySeconds"), ...validateStrategy(spec));
  return [...errors, ...nonNegative(spec.revisionHistoryLimit, "spec.revisionHistoryLimit")];
}

function validateStrategy({ updateStrategy = {} }: Spec): FieldError[] {
  const { type = "", rollingUpdate } = updateStrategy;
  if (type === "OnDelete") return [];
  const path = "spec.updateStrategy";
  if (type !== "RollingUpdate") {
    const value = { Type: type, RollingUpdate: rollingUpdate ?? null };
    return [notSupported(path, value, ["RollingUpdate", "OnDelete"])];
  }
  const { maxUnavailable, maxSurge } = rollingUpdate ?? {};
  const [at, surgeAt] = [`${path}.rollingUpdate.maxUnavailable`, `${path}.rollingUpdate.maxSurge`];
  const errors = [
    ...validateCountOrPercent(maxUnavailable, at),
    ...validateCountOrPercent(maxSurge, surgeAt),
    ...validateAtMostHundredPercent(maxUnavailable, at),
    ...validateAtMostHundredPercent(maxSurge, surgeAt),
  ];
  if (!isNone(maxUnavailable) && !isNone(maxSurge)) {
    errors.push(invalidField(surgeAt, maxSurge, "may not be set when maxUnavailable is non-zero"));
  }
  if (isNone(maxUnavailable) && isNone(maxSurge)) errors.push(required(at, "cannot be 0 when maxSurge is 0"));
  return errors;
}
