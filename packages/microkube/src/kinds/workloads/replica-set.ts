import type { IReplicaSet } from "kubernetes-models/apps/v1/ReplicaSet";
import type { IReplicationController } from "kubernetes-models/v1/ReplicationController";
import type { FieldError } from "../../field-error.ts";
import { required } from "../../field-error.ts";
import { columnsOf, containerColumns, integer, labelsText, text, wide } from "../columns.ts";
import { type DraftObject, defineResource } from "../kind.ts";
import { defaultPodTemplate } from "../pod/pod-template.ts";
import { templateWarnings } from "../pod/pod-warnings.ts";
import { immutable, sameMeaning } from "../values/equality.ts";
import { type LabelSelector, selectorText } from "../values/label-selector.ts";
import { nonNegative } from "../values/number.ts";
import { validateCounts, validateOwnTemplate, validateSelection } from "./replicas.ts";
import { scaleView } from "./scale.ts";

const parts = ["fullyLabeledReplicas", "readyReplicas", "availableReplicas"];

export const replicaSet = defineResource<IReplicaSet>({
  group: "apps",
  kind: "ReplicaSet",
  hasStatus: true,
  generation: "spec",
  default({ spec }) {
    if (spec === undefined) return;
    defaultPodTemplate(spec.template);
    spec.replicas ??= 1;
  },
  validate: ({ spec }) => validateSetSpec(spec ?? {}),
  validateUpdate: ({ spec = {} }, { spec: before = {} }) => [
    ...validateSetSpec(spec),
    ...immutable(spec.selector, before.selector, "spec.selector"),
  ],
  validateStatus: ({ status }) => validateCounts(status, [...parts, "terminatingReplicas"]),
  warnings: ({ spec }, old) =>
    old === undefined || !sameMeaning(spec?.template, old.spec?.template) ? templateWarnings(spec?.template) : [],
  subresources: {
    scale: scaleView((object) => selectorText((object as DraftObject<IReplicaSet>).spec?.selector as LabelSelector)),
  },
  columns: columnsOf<IReplicaSet>(
    integer("Desired", ({ spec }) => spec?.replicas ?? 0),
    integer("Current", ({ status }) => status?.replicas ?? 0),
    integer("Ready", ({ status }) => status?.readyReplicas ?? 0),
    ...containerColumns<IReplicaSet>(({ spec }) => spec?.template?.spec),
    wide(text("Selector", ({ spec }) => selectorText(spec?.selector as LabelSelector))),
  ),
});

function validateSetSpec(spec: NonNullable<DraftObject<IReplicaSet>["spec"]>): FieldError[] {
  return [
    ...nonNegative(spec.replicas, "spec.replicas"),
    ...nonNegative(spec.minReadySeconds, "spec.minReadySeconds"),
    ...validateSelection(spec, { empty: "deployment", deadline: "ReplicaSet" }),
  ];
}

type Controller = DraftObject<IReplicationController>;

export const replicationController = defineResource<IReplicationController>({
  group: "",
  kind: "ReplicationController",
  hasStatus: true,
  generation: "spec",
  defaultPropagation: "Orphan",
  default({ spec, metadata }) {
    if (spec === undefined) return;
    defaultPodTemplate(spec.template);
    const labels = spec.template?.metadata?.labels as Record<string, string> | undefined;
    if (labels === undefined) return;
    if (Object.keys(spec.selector ?? {}).length === 0) spec.selector = { ...labels };
    if (Object.keys(metadata.labels ?? {}).length === 0) metadata.labels = { ...labels };
  },
  validate: validateController,
  validateStatus: ({ status }) => validateCounts(status, parts),
  warnings: ({ spec }, old) =>
    old === undefined || !sameMeaning(spec?.template, old.spec?.template) ? templateWarnings(spec?.template) : [],
  subresources: {
    scale: scaleView((object) => {
      const labels = (object as Controller).spec?.selector ?? {};
      return selectorText({ matchLabels: labels as Record<string, string> });
    }),
  },
  selectableFields: { "status.replicas": ({ status }) => String(status?.replicas ?? 0) },
  columns: columnsOf<IReplicationController>(
    integer("Desired", ({ spec }) => spec?.replicas ?? 0),
    integer("Current", ({ status }) => status?.replicas ?? 0),
    integer("Ready", ({ status }) => status?.readyReplicas ?? 0),
    ...containerColumns<IReplicationController>(({ spec }) => spec?.template?.spec),
    wide(text("Selector", ({ spec }) => labelsText(spec?.selector))),
  ),
});

function validateController({ spec = {} }: Controller): FieldError[] {
  const errors = nonNegative(spec.minReadySeconds, "spec.minReadySeconds");
  if (Object.keys(spec.selector ?? {}).length === 0) errors.push(required("spec.selector"));
  if (spec.replicas === undefined) errors.push(required("spec.replicas"));
  else errors.push(...nonNegative(spec.replicas, "spec.replicas"));
  if (spec.template === undefined) return [...errors, required("spec.template")];
  const selector = { matchLabels: spec.selector as Record<string, string> };
  return [...errors, ...validateOwnTemplate(spec.template, selector, "ReplicationController")];
}
