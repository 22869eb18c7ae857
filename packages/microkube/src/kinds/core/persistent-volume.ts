import type { IPersistentVolume } from "kubernetes-models/v1/PersistentVolume";
import type { FieldError } from "../../field-error.ts";
import { forbiddenField, invalidField, notSupported, required } from "../../field-error.ts";
import { columnsOf, orUnset, text, wide } from "../columns.ts";
import { type DraftObject, defineResource } from "../kind.ts";
import { validateNodeSelector } from "../pod/affinity.ts";
import { validateNoBacksteps } from "../pod/file-path.ts";
import { validateDriverName } from "../pod/volumes.ts";
import { difference } from "../values/difference.ts";
import { byKey, immutable, sameMeaning } from "../values/equality.ts";
import { positiveQuantity } from "../values/quantity.ts";
import { accessModesText } from "./access-modes.ts";
import { validateAccessModes, validateClassName, volumeModes } from "./claim-spec.ts";

type Volume = DraftObject<IPersistentVolume>;
type Spec = NonNullable<Volume["spec"]>;
const policies = ["Delete", "Recycle", "Retain"];
const sources = [
  "hostPath",
  "gcePersistentDisk",
  "awsElasticBlockStore",
  "glusterfs",
  "flocker",
  "nfs",
  "rbd",
  "quobyte",
  "cephfs",
  "iscsi",
  "cinder",
  "fc",
  "flexVolume",
  "azureFile",
  "vsphereVolume",
  "photonPersistentDisk",
  "portworxVolume",
  "azureDisk",
  "scaleIO",
  "local",
  "storageos",
  "csi",
] as const;

export const persistentVolume = defineResource<IPersistentVolume>({
  group: "",
  kind: "PersistentVolume",
  hasStatus: true,
  default({ spec, status }) {
    if (status !== undefined) status.phase ??= "Pending";
    if (spec === undefined) return;
    spec.persistentVolumeReclaimPolicy ||= "Retain";
    spec.volumeMode ??= "Filesystem";
    if (spec.claimRef !== undefined) {
      spec.claimRef.kind ||= "PersistentVolumeClaim";
      spec.claimRef.apiVersion ||= "v1";
    }
    if (spec.hostPath) spec.hostPath.type ??= "";
  },
  prepareCreate(object, { cluster }) {
    const time = `${new Date(cluster.clock.now()).toISOString().slice(0, 19)}Z`;
    object.status = { phase: "Pending", lastPhaseTransitionTime: time };
  },
  prepareStatus(object, sent) {
    const before = sent.status?.phase;
    if (before !== undefined && object.status !== undefined) object.status.phase = before;
  },
  validate: ({ spec }) => validateSpec(spec ?? {}),
  validateUpdate({ spec = {} }, { spec: before = {} }) {
    const errors = validateSpec(spec);
    const now = sourceOf(spec);
    const old = sourceOf(before);
    if (!sameMeaning(now, old)) {
      const text = `spec.persistentvolumesource is immutable after creation\n${difference(old, now)}`;
      errors.push(forbiddenField("spec.persistentvolumesource", text));
    }
    errors.push(...immutable(spec.volumeMode, before.volumeMode, "volumeMode"));
    if (before.nodeAffinity !== undefined && !sameMeaning(spec.nodeAffinity, before.nodeAffinity)) {
      const text = "field is immutable, except for updating from beta label to GA";
      errors.push(invalidField("nodeAffinity", spec.nodeAffinity, text));
    }
    return errors;
  },
  columns: columnsOf<IPersistentVolume>(
    text("Capacity", ({ spec }) => String(spec?.capacity?.storage ?? "0")),
    text("Access Modes", ({ spec }) => accessModesText(spec?.accessModes)),
    text("Reclaim Policy", ({ spec }) => spec?.persistentVolumeReclaimPolicy ?? ""),
    text("Status", ({ metadata, status }) => (metadata.deletionTimestamp ? "Terminating" : (status?.phase ?? ""))),
    text("Claim", ({ spec }) => (spec?.claimRef ? `${spec.claimRef.namespace ?? ""}/${spec.claimRef.name ?? ""}` : "")),
    text("StorageClass", ({ spec }) => spec?.storageClassName ?? ""),
    text("VolumeAttributesClass", ({ spec }) => orUnset(spec?.volumeAttributesClassName)),
    text("Reason", ({ status }) => status?.reason ?? ""),
    wide(text("VolumeMode", ({ spec }) => orUnset(spec?.volumeMode))),
  ),
});

const sourceOf = (spec: Spec): Record<string, unknown> =>
  Object.fromEntries(sources.filter((name) => spec[name] !== undefined).map((name) => [name, spec[name]]));

function validateSpec(spec: Spec): FieldError[] {
  const modes = (spec.accessModes ?? []).map((mode) => mode ?? "");
  const errors: FieldError[] = modes.length === 0 ? [required("spec.accessModes")] : [];
  errors.push(...validateAccessModes(modes, "spec.accessModes"));
  const capacity = Object.entries(spec.capacity ?? {});
  if (capacity.length === 0) errors.push(required("spec.capacity"));
  if (spec.capacity?.storage === undefined || capacity.length > 1) {
    errors.push(notSupported("spec.capacity", byKey(spec.capacity), ["storage"]));
  }
  errors.push(...capacity.flatMap(([name, amount]) => positiveQuantity(amount, `spec.capacity[${name}]`)));
  const policy = spec.persistentVolumeReclaimPolicy;
  if (policy && !policies.includes(policy)) {
    errors.push(notSupported("spec.persistentVolumeReclaimPolicy", policy, policies));
  }
  if (spec.nodeAffinity !== undefined) {
    const { required: must } = spec.nodeAffinity;
    if (must === undefined)
      errors.push(required("spec.nodeAffinity.required", "must specify required node constraints"));
    else errors.push(...validateNodeSelector(must, "spec.nodeAffinity.required"));
  }
  errors.push(...validateSource(spec));
  if (spec.hostPath?.path === "/" && policy === "Recycle") {
    const text = "may not be 'recycle' for a hostPath mount of '/'";
    errors.push(forbiddenField("spec.persistentVolumeReclaimPolicy", text));
  }
  if (spec.storageClassName) errors.push(...validateClassName(spec.storageClassName, "spec.storageClassName"));
  if (spec.volumeMode !== undefined && !volumeModes.includes(spec.volumeMode)) {
    errors.push(notSupported("spec.volumeMode", spec.volumeMode, volumeModes));
  }
  return errors;
}

function validateSource(spec: Spec): FieldError[] {
  const set = sources.filter((source) => spec[source] !== undefined);
  if (set.length === 0) return [required("spec", "must specify a volume type")];
  const errors = set.slice(1).map((one) => forbiddenField(`spec.${one}`, "may not specify more than 1 volume type"));
  const { hostPath, nfs, local, csi } = spec;
  if (set[0] === "hostPath") {
    if (!hostPath?.path) errors.unshift(required("spec.hostPath.path"));
    else errors.unshift(...validateNoBacksteps(hostPath.path, "spec.hostPath.path"));
  }
  if (set[0] === "nfs") {
    if (!nfs?.server) errors.unshift(required("spec.nfs.server"));
    if (!nfs?.path) errors.unshift(required("spec.nfs.path"));
    if (!nfs?.path?.startsWith("/")) {
      errors.unshift(invalidField("spec.nfs.path", nfs?.path ?? "", "must be an absolute path"));
    }
  }
  if (set[0] === "local") {
    if (!local?.path) errors.unshift(required("spec.local.path"));
    else errors.unshift(...validateNoBacksteps(local.path, "spec.local.path"));
    if (spec.nodeAffinity === undefined) {
      errors.push(required("spec.nodeAffinity", "Local volume requires node affinity"));
    }
  }
  if (set[0] === "csi") {
    errors.unshift(...validateDriverName(csi?.driver, "spec.csi.driver"));
    if (!csi?.volumeHandle) errors.push(required("spec.csi.volumeHandle"));
  }
  return errors;
}
