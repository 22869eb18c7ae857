import type { IStatefulSet } from "kubernetes-models/apps/v1/StatefulSet";
import type { FieldError } from "../../field-error.ts";
import { forbiddenField, invalidField, notSupported, required } from "../../field-error.ts";
import { columnsOf, containerColumns, text } from "../columns.ts";
import { defaultClaimSpec, validateClaimSpec } from "../core/claim-spec.ts";
import { type DraftObject, defineResource } from "../kind.ts";
import { defaultPodTemplate, type PodTemplate } from "../pod/pod-template.ts";
import { templateWarnings } from "../pod/pod-warnings.ts";
import { sameMeaning } from "../values/equality.ts";
import { type LabelSelector, selectorText } from "../values/label-selector.ts";
import { dnsLabel } from "../values/name.ts";
import { nonNegative, validateAtMostHundredPercent, validateCountOrPercent } from "../values/number.ts";
import { isNone } from "./deployment.ts";
import { validateCollisions, validateCounts, validateSelection } from "./replicas.ts";
import { scaleView } from "./scale.ts";

type StatefulSet = DraftObject<IStatefulSet>;
type Spec = NonNullable<StatefulSet["spec"]>;

const changeable = [
  "replicas",
  "ordinals",
  "template",
  "updateStrategy",
  "revisionHistoryLimit",
  "persistentVolumeClaimRetentionPolicy",
  "minReadySeconds",
] as const;
const refusal =
  "updates to statefulset spec for fields other than 'replicas', 'ordinals', 'template', 'updateStrategy', 'revisionHistoryLimit', 'persistentVolumeClaimRetentionPolicy' and 'minReadySeconds' are forbidden";

export const statefulSet = defineResource<IStatefulSet>({
  group: "apps",
  kind: "StatefulSet",
  nameRule: dnsLabel,
  hasStatus: true,
  generation: "spec",
  default({ spec }) {
    if (spec === undefined) return;
    spec.template ??= {};
    defaultPodTemplate(spec.template);
    defaultSpec(spec);
  },
  prepareCreate: ({ spec }) => dropMaxUnavailable(spec, undefined),
  prepareUpdate: ({ spec }, old) => dropMaxUnavailable(spec, old.spec),
  validate: ({ spec }) => validateSpec(spec ?? {}, true),
  validateUpdate: ({ spec = {} }, { spec: before = {} }) => {
    const errors = validateSpec(spec, false);
    const rest = { ...spec };
    for (const field of changeable) Object.assign(rest, { [field]: before[field] });
    return sameMeaning(rest, before) ? errors : [...errors, forbiddenField("spec", refusal)];
  },
  validateStatus: ({ status }, { status: before }) => [
    ...validateCounts(
      status,
      ["readyReplicas", "currentReplicas", "updatedReplicas", "availableReplicas"],
      "status.readyReplicas",
    ),
    ...validateCollisions(status?.collisionCount, before?.collisionCount),
  ],
  warnings: ({ spec }, old) => [
    ...(old === undefined || !sameMeaning(spec?.template, old.spec?.template) ? templateWarnings(spec?.template) : []),
    ...((spec?.revisionHistoryLimit ?? 0) < 0
      ? ["spec.revisionHistoryLimit: a negative value retains all historical revisions; a value >= 0 is recommended"]
      : []),
  ],
  subresources: { scale: scaleView((object) => selectorText((object as StatefulSet).spec?.selector as LabelSelector)) },
  columns: columnsOf<IStatefulSet>(
    text("Ready", ({ spec, status }) => `${status?.readyReplicas ?? 0}/${spec?.replicas ?? 0}`),
    ...containerColumns<IStatefulSet>(({ spec }) => spec?.template?.spec),
  ),
});

/** A field of the future: it stays only where it was. */
function dropMaxUnavailable(spec: Spec | undefined, before: Spec | undefined): void {
  const { rollingUpdate } = spec?.updateStrategy ?? {};
  if (before?.updateStrategy?.rollingUpdate?.maxUnavailable === undefined) delete rollingUpdate?.maxUnavailable;
}

function defaultSpec(spec: Spec): void {
  spec.podManagementPolicy ||= "OrderedReady";
  spec.updateStrategy ??= {};
  if (!spec.updateStrategy.type) {
    spec.updateStrategy.type = "RollingUpdate";
    spec.updateStrategy.rollingUpdate ??= {};
  }
  if (spec.updateStrategy.type === "RollingUpdate" && spec.updateStrategy.rollingUpdate !== undefined) {
    spec.updateStrategy.rollingUpdate.partition ??= 0;
  }
  spec.persistentVolumeClaimRetentionPolicy ??= {};
  spec.persistentVolumeClaimRetentionPolicy.whenDeleted ||= "Retain";
  spec.persistentVolumeClaimRetentionPolicy.whenScaled ||= "Retain";
  spec.replicas ??= 1;
  spec.revisionHistoryLimit ??= 10;
  for (const claim of spec.volumeClaimTemplates ?? []) {
    claim.apiVersion ||= "v1";
    claim.kind ||= "PersistentVolumeClaim";
    defaultClaimSpec(claim.spec);
    claim.status ??= {};
    claim.status.phase ??= "Pending";
  }
}

function validateSpec(spec: Spec, isNew: boolean): FieldError[] {
  const { podManagementPolicy: policy, persistentVolumeClaimRetentionPolicy: retention } = spec;
  const errors: FieldError[] = [];
  if (!policy) errors.push(required("spec.podManagementPolicy"));
  else if (policy !== "OrderedReady" && policy !== "Parallel") {
    errors.push(invalidField("spec.podManagementPolicy", policy, "must be 'OrderedReady' or 'Parallel'"));
  }
  errors.push(...validateUpdateStrategy(spec));
  for (const when of ["whenDeleted", "whenScaled"] as const) {
    const value = retention?.[when];
    if (value === undefined || value === "Retain" || value === "Delete") continue;
    const path = `spec.persistentVolumeClaimRetentionPolicy.${when}`;
    errors.push(notSupported(path, value, ["Retain", "Delete"]));
  }
  for (const [i, claim] of (isNew ? (spec.volumeClaimTemplates ?? []) : []).entries()) {
    errors.push(...validateClaimSpec(claim.spec ?? {}, `spec.volumeClaimTemplates[${i}].spec`));
  }
  errors.push(...nonNegative(spec.replicas, "spec.replicas"));
  errors.push(...nonNegative(spec.minReadySeconds, "spec.minReadySeconds"));
  errors.push(...nonNegative(spec.ordinals?.start, "spec.ordinals.start"));
  if (isNew && spec.serviceName) {
    const { serviceName } = spec;
    errors.push(...dnsLabel(serviceName).map((one) => invalidField("spec.serviceName", serviceName, one)));
  }
  const template = withClaims(spec);
  return [...errors, ...validateSelection({ ...spec, template }, { empty: "statefulset", deadline: "StatefulSet" })];
}

function validateUpdateStrategy({ updateStrategy = {} }: Spec): FieldError[] {
  const { type, rollingUpdate } = updateStrategy;
  const path = "spec.updateStrategy";
  if (!type) return [required(path)];
  if (type === "OnDelete") {
    if (rollingUpdate === undefined) return [];
    return [invalidField(`${path}.rollingUpdate`, rollingUpdate, "only allowed for updateStrategy 'RollingUpdate'")];
  }
  if (type !== "RollingUpdate") {
    const value = { Type: type, RollingUpdate: rollingUpdate ?? null };
    return [invalidField(path, value, "must be 'RollingUpdate' or 'OnDelete'")];
  }
  const errors = nonNegative(rollingUpdate?.partition, `${path}.rollingUpdate.partition`);
  const { maxUnavailable } = rollingUpdate ?? {};
  if (maxUnavailable === undefined) return errors;
  const at = `${path}.rollingUpdate.maxUnavailable`;
  errors.push(...validateCountOrPercent(maxUnavailable, at));
  if (isNone(maxUnavailable)) errors.push(invalidField(at, maxUnavailable, "cannot be 0"));
  return [...errors, ...validateAtMostHundredPercent(maxUnavailable, at)];
}

/** Claims become volumes of the pods, and names come from the set. */
function withClaims({ template = {}, volumeClaimTemplates = [] }: Spec): PodTemplate {
  const claims = volumeClaimTemplates.map(({ metadata }) => {
    const name = (metadata as { name?: string } | undefined)?.name ?? "";
    return { name, persistentVolumeClaim: { claimName: name } };
  });
  const names = new Set(claims.map(({ name }) => name));
  const own = (template.spec?.volumes ?? []).filter(({ name }) => !names.has(name ?? ""));
  const { subdomain, hostname, ...spec } = template.spec ?? {};
  return { ...template, spec: { ...spec, volumes: [...claims, ...own] } };
}
