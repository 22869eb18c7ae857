import type { IPersistentVolumeClaim } from "kubernetes-models/v1/PersistentVolumeClaim";
import type { FieldError } from "../../field-error.ts";
import { forbiddenField } from "../../field-error.ts";
import { columnsOf, orUnset, text, wide } from "../columns.ts";
import { type DraftObject, defineResource } from "../kind.ts";
import { difference } from "../values/difference.ts";
import { immutable, sameMeaning } from "../values/equality.ts";
import { amountOf } from "../values/quantity.ts";
import { accessModesText } from "./access-modes.ts";
import { defaultClaimSpec, validateClaimSpec } from "./claim-spec.ts";

type Claim = DraftObject<IPersistentVolumeClaim>;
const classAnnotation = "volume.beta.kubernetes.io/storage-class";
const refusal =
  "spec is immutable after creation except resources.requests and volumeAttributesClassName for bound claims";

export const persistentVolumeClaim = defineResource<IPersistentVolumeClaim>({
  group: "",
  kind: "PersistentVolumeClaim",
  hasStatus: true,
  default(object) {
    defaultClaimSpec(object.spec);
    if (object.status !== undefined) object.status.phase ??= "Pending";
  },
  prepareCreate(object) {
    object.status = { phase: "Pending" };
    dropStrangeSource(object);
    alignSources(object);
  },
  prepareUpdate: alignSources,
  validate: ({ spec }) => validateClaimSpec(spec ?? {}, "spec"),
  validateUpdate: (object, old) => [...validateClaimSpec(object.spec ?? {}, "spec"), ...validateChange(object, old)],
  columns: columnsOf<IPersistentVolumeClaim>(
    text("Status", ({ metadata, status }) => (metadata.deletionTimestamp ? "Terminating" : (status?.phase ?? ""))),
    text("Volume", ({ spec }) => spec?.volumeName ?? ""),
    text("Capacity", ({ spec, status }) => (spec?.volumeName ? String(status?.capacity?.storage ?? "0") : "")),
    text("Access Modes", ({ spec, status }) => (spec?.volumeName ? accessModesText(status?.accessModes) : "")),
    text(
      "StorageClass",
      ({ spec, metadata }) => metadata.annotations?.[classAnnotation] ?? spec?.storageClassName ?? "",
    ),
    text("VolumeAttributesClass", ({ spec }) => orUnset(spec?.volumeAttributesClassName)),
    wide(text("VolumeMode", ({ spec }) => orUnset(spec?.volumeMode))),
  ),
});

/** What the older field cannot name is left out without a word. */
function dropStrangeSource({ spec }: Claim): void {
  if (spec?.dataSource === undefined || spec.dataSourceRef !== undefined) return;
  const { apiGroup, kind } = spec.dataSource;
  const isClaim = !apiGroup && kind === "PersistentVolumeClaim";
  const isSnapshot = apiGroup === "snapshot.storage.k8s.io" && kind === "VolumeSnapshot";
  if (!isClaim && !isSnapshot) delete spec.dataSource;
}

/** A source within the namespace is in two fields. */
function alignSources({ spec }: Claim): void {
  if (spec === undefined) return;
  if (spec.dataSource !== undefined && spec.dataSourceRef === undefined) spec.dataSourceRef = { ...spec.dataSource };
  else if (spec.dataSourceRef !== undefined && spec.dataSource === undefined && !spec.dataSourceRef.namespace) {
    spec.dataSource = { ...spec.dataSourceRef };
  }
}

function validateChange({ spec = {}, status, metadata }: Claim, old: Claim): FieldError[] {
  const before = old.spec ?? {};
  const isBound = status?.phase === "Bound";
  const rest = structuredClone(spec);
  const compared = structuredClone(before);
  if (!before.volumeName && spec.volumeName) compared.volumeName = spec.volumeName;
  const hadClass = before.storageClassName !== undefined || old.metadata.annotations?.[classAnnotation] !== undefined;
  if (!hadClass) rest.storageClassName = before.storageClassName;
  if (isBound && rest.resources?.requests !== undefined) {
    rest.resources.requests.storage = before.resources?.requests?.storage;
  }
  if (isBound) rest.volumeAttributesClassName = before.volumeAttributesClassName;
  const errors: FieldError[] = [];
  const now = metadata.annotations?.[classAnnotation] ?? "";
  const then = old.metadata.annotations?.[classAnnotation] ?? "";
  errors.push(...immutable(now, then, `metadata.annotations.${classAnnotation}`));
  if (!sameMeaning(rest, compared)) {
    errors.push(forbiddenField("spec", `${refusal}\n${difference(compared, rest)}`));
  }
  const size = amountOf(spec.resources?.requests?.storage);
  if (size < amountOf(before.resources?.requests?.storage) && size <= amountOf(old.status?.capacity?.storage)) {
    errors.push(forbiddenField("spec.resources.requests.storage", "field can not be less than status.capacity"));
  }
  return [...errors, ...immutable(spec.volumeMode, before.volumeMode, "volumeMode")];
}
