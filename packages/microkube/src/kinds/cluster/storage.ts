import type { ICSIDriver } from "kubernetes-models/storage.k8s.io/v1/CSIDriver";
import type { ICSINode } from "kubernetes-models/storage.k8s.io/v1/CSINode";
import type { ICSIStorageCapacity } from "kubernetes-models/storage.k8s.io/v1/CSIStorageCapacity";
import type { IStorageClass } from "kubernetes-models/storage.k8s.io/v1/StorageClass";
import type { IVolumeAttachment } from "kubernetes-models/storage.k8s.io/v1/VolumeAttachment";
import type { IVolumeAttributesClass } from "kubernetes-models/storage.k8s.io/v1/VolumeAttributesClass";
import type { FieldError } from "../../field-error.ts";
import { duplicate, forbiddenField, invalidField, notSupported, required } from "../../field-error.ts";
import { boolean, columnsOf, integer, nameColumn, orNone, orUnset, text } from "../columns.ts";
import { type DraftObject, defineResource, type KindDefinition } from "../kind.ts";
import { validateDriverName } from "../pod/volumes.ts";
import { immutable, immutableText, sameMeaning } from "../values/equality.ts";
import { qualifiedName } from "../values/label.ts";
import { type LabelSelector, validateLabelSelector } from "../values/label-selector.ts";
import { dnsSubdomain } from "../values/name.ts";
import { nonNegative } from "../values/number.ts";
import { nonNegativeQuantity } from "../values/quantity.ts";

const group = "storage.k8s.io";
const reclaimPolicies = ["Delete", "Retain"];
const bindingModes = ["Immediate", "WaitForFirstConsumer"];
const defaultAnnotation = "storageclass.kubernetes.io/is-default-class";

const storageClass = defineResource<IStorageClass>({
  group,
  kind: "StorageClass",
  default(object) {
    object.reclaimPolicy ??= "Delete";
    object.volumeBindingMode ??= "Immediate";
  },
  validate({ provisioner, parameters, reclaimPolicy, volumeBindingMode: mode }) {
    const errors = validateProvisioner(provisioner, "provisioner");
    if (Object.keys(parameters ?? {}).includes("")) {
      errors.push(invalidField("parameters", "", "field can not be empty."));
    }
    if (reclaimPolicy && !reclaimPolicies.includes(reclaimPolicy)) {
      errors.push(notSupported("reclaimPolicy", reclaimPolicy, reclaimPolicies));
    }
    if (mode === undefined || bindingModes.includes(mode)) return errors;
    return [...errors, notSupported("volumeBindingMode", mode, bindingModes)];
  },
  validateUpdate: (object, old) =>
    (["parameters", "provisioner", "reclaimPolicy", "volumeBindingMode"] as const).flatMap((field) =>
      immutable(object[field], old[field], field),
    ),
  columns: [
    {
      ...nameColumn<IStorageClass>(),
      value: ({ metadata }) => {
        const isDefault = metadata.annotations?.[defaultAnnotation] === "true";
        return `${metadata.name ?? ""}${isDefault ? " (default)" : ""}`;
      },
    },
    ...columnsOf<IStorageClass>(
      text("Provisioner", ({ provisioner }) => provisioner ?? ""),
      text("ReclaimPolicy", ({ reclaimPolicy }) => reclaimPolicy ?? "Delete"),
      text("VolumeBindingMode", ({ volumeBindingMode }) => orUnset(volumeBindingMode)),
      text("AllowVolumeExpansion", ({ allowVolumeExpansion }) => allowVolumeExpansion ?? false),
    ).slice(1),
  ],
});

function validateProvisioner(provisioner: string | undefined, path: string): FieldError[] {
  if (!provisioner) return [required(path)];
  const lower = provisioner.toLowerCase();
  return qualifiedName(lower).map((one) => invalidField(path, lower, one));
}

const volumeAttributesClass = defineResource<IVolumeAttributesClass>({
  group,
  kind: "VolumeAttributesClass",
  validate: ({ driverName, parameters }) => [
    ...validateProvisioner(driverName, "driverName"),
    ...(Object.keys(parameters ?? {}).length === 0
      ? [required("parameters", "must contain at least one key/value pair")]
      : []),
  ],
  validateUpdate: ({ driverName, parameters }, old) => [
    ...(driverName === old.driverName ? [] : [forbiddenField("driverName", "updates to driverName are forbidden.")]),
    ...(sameMeaning(parameters, old.parameters)
      ? []
      : [forbiddenField("parameters", "updates to parameters are forbidden.")]),
  ],
  columns: columnsOf<IVolumeAttributesClass>(text("DriverName", ({ driverName }) => driverName ?? "")),
});

const volumeAttachment = defineResource<IVolumeAttachment>({
  group,
  kind: "VolumeAttachment",
  hasStatus: true,
  validate: validateAttachment,
  validateUpdate(object, old) {
    const errors = validateAttachment(object);
    if (sameMeaning(object.spec, old.spec)) return errors;
    const { attacher = "", source = {}, nodeName = "" } = object.spec ?? {};
    const { persistentVolumeName = null, inlineVolumeSpec = null } = source;
    const inner = { PersistentVolumeName: persistentVolumeName, InlineVolumeSpec: inlineVolumeSpec };
    const value = { Attacher: attacher, Source: inner, NodeName: nodeName };
    return [...errors, invalidField("spec", value, immutableText)];
  },
  columns: columnsOf<IVolumeAttachment>(
    { ...text<IVolumeAttachment>("Attacher", ({ spec }) => spec?.attacher ?? ""), format: "name" },
    text("PV", ({ spec }) => spec?.source?.persistentVolumeName ?? ""),
    text("Node", ({ spec }) => spec?.nodeName ?? ""),
    boolean("Attached", ({ status }) => status?.attached ?? false),
  ),
});

function validateAttachment({ spec = {} }: DraftObject<IVolumeAttachment>): FieldError[] {
  const { attacher, source = {}, nodeName = "" } = spec;
  const errors = validateDriverName(attacher, "spec.attacher");
  const { inlineVolumeSpec, persistentVolumeName: volume } = source;
  const one = "must specify exactly one of inlineVolumeSpec and persistentVolumeName";
  if (inlineVolumeSpec === undefined && volume === undefined) errors.push(required("spec.source", one));
  else if (inlineVolumeSpec !== undefined && volume !== undefined) errors.push(forbiddenField("spec.source", one));
  else if (volume === "") {
    const path = "spec.source.persistentVolumeName";
    errors.push(required(path, "must specify non empty persistentVolumeName"));
  }
  errors.push(...dnsSubdomain(nodeName).map((why) => invalidField("spec.nodeName", nodeName, why)));
  if (volume === undefined) return errors;
  return [
    ...errors,
    ...dnsSubdomain(volume).map((why) => invalidField("spec.source.persistentVolumeName", volume, why)),
  ];
}

const csiNode = defineResource<ICSINode>({
  group,
  kind: "CSINode",
  validate: validateCsiNode,
  validateUpdate: (object, old) => [
    ...validateCsiNode(object),
    ...(old.spec?.drivers ?? []).flatMap((before) => {
      const now = object.spec?.drivers?.find(({ name }) => name === before.name);
      if (now === undefined) return [];
      const { allocatable: _, ...rest } = now;
      const { allocatable: __, ...kept } = before;
      return immutable(rest, kept, "spec.drivers");
    }),
  ],
  columns: columnsOf<ICSINode>(integer("Drivers", ({ spec }) => (spec?.drivers ?? []).length)),
});

function validateCsiNode({ spec }: DraftObject<ICSINode>): FieldError[] {
  const names = new Set<string>();
  return (spec?.drivers ?? []).flatMap(({ name = "", nodeID = "", allocatable, topologyKeys = [] }, i) => {
    const at = `spec.drivers[${i}]`;
    const errors = validateDriverName(name, `${at}.name`);
    if (nodeID === "") errors.push(required(`${at}.nodeID`));
    if (nodeID.length > 192) errors.push(invalidField(`${at}.nodeID`, nodeID, "must be 192 characters or less"));
    errors.push(...nonNegative(allocatable?.count, `${at}.allocatable.count`));
    if (names.has(name)) errors.push(duplicate(`${at}.name`, name));
    names.add(name);
    for (const [j, key = ""] of topologyKeys.entries()) {
      if (key === "") errors.push(required(at));
      if (topologyKeys.indexOf(key) < j) errors.push(duplicate(at, key));
      errors.push(...qualifiedName(key).map((one) => invalidField(at, key, one)));
    }
    return errors;
  });
}

const csiDriver = defineResource<ICSIDriver>({
  group,
  kind: "CSIDriver",
  default(object) {
    object.spec ??= {};
    const { spec } = object;
    spec.attachRequired ??= true;
    spec.podInfoOnMount ??= false;
    spec.storageCapacity ??= false;
    spec.fsGroupPolicy ??= "ReadWriteOnceWithFSType";
    if ((spec.volumeLifecycleModes ?? []).length === 0) spec.volumeLifecycleModes = ["Persistent"];
    spec.requiresRepublish ??= false;
    spec.seLinuxMount ??= false;
  },
  validate: validateCsiDriver,
  validateUpdate: (object, old) => [
    ...validateCsiDriver(object),
    ...immutable(object.spec?.attachRequired, old.spec?.attachRequired, "spec.attachedRequired"),
    ...immutable(object.spec?.volumeLifecycleModes, old.spec?.volumeLifecycleModes, "spec.volumeLifecycleModes"),
  ],
  columns: columnsOf<ICSIDriver>(
    boolean("AttachRequired", ({ spec }) => spec?.attachRequired ?? true),
    boolean("PodInfoOnMount", ({ spec }) => spec?.podInfoOnMount ?? false),
    boolean("StorageCapacity", ({ spec }) => spec?.storageCapacity ?? false),
    text("TokenRequests", ({ spec }) =>
      spec?.tokenRequests === undefined ? "<unset>" : spec.tokenRequests.map(({ audience = "" }) => audience).join(","),
    ),
    boolean("RequiresRepublish", ({ spec }) => spec?.requiresRepublish ?? false),
    text("Modes", ({ spec }) => orNone((spec?.volumeLifecycleModes ?? []).join(","))),
  ),
});

const groupPolicies = ["File", "None", "ReadWriteOnceWithFSType"];
const lifecycleModes = ["Persistent", "Ephemeral"];

function validateCsiDriver({ spec = {} }: DraftObject<ICSIDriver>): FieldError[] {
  const errors: FieldError[] = [];
  const { fsGroupPolicy, tokenRequests = [], volumeLifecycleModes = [] } = spec;
  if (fsGroupPolicy !== undefined && !groupPolicies.includes(fsGroupPolicy)) {
    errors.push(notSupported("spec.fsGroupPolicy", fsGroupPolicy, groupPolicies));
  }
  const audiences = new Set<string>();
  for (const [i, { audience = "", expirationSeconds: seconds }] of tokenRequests.entries()) {
    const at = `spec.tokenRequests[${i}]`;
    if (audiences.has(audience)) errors.push(duplicate(`${at}.audience`, audience));
    audiences.add(audience);
    if (seconds !== undefined && seconds < 600) {
      errors.push(invalidField(`${at}.expirationSeconds`, seconds, "may not specify a duration less than 10 minutes"));
    }
  }
  for (const mode of volumeLifecycleModes) {
    if (!lifecycleModes.includes(mode ?? ""))
      errors.push(notSupported("spec.volumeLifecycleModes", mode, lifecycleModes));
  }
  return errors;
}

const csiStorageCapacity = defineResource<ICSIStorageCapacity>({
  group,
  kind: "CSIStorageCapacity",
  validate: ({ nodeTopology, storageClassName = "", capacity }) => [
    ...validateLabelSelector(nodeTopology as LabelSelector | undefined, "nodeTopology"),
    ...dnsSubdomain(storageClassName).map((one) => invalidField("storageClassName", storageClassName, one)),
    ...nonNegativeQuantity(capacity, "capacity"),
  ],
  validateUpdate: (object, old) => [
    ...immutable(object.nodeTopology, old.nodeTopology, "nodeTopology"),
    ...immutable(object.storageClassName, old.storageClassName, "storageClassName"),
  ],
});

export const storageKinds: readonly KindDefinition[] = [
  storageClass,
  volumeAttributesClass,
  volumeAttachment,
  csiNode,
  csiDriver,
  csiStorageCapacity,
];
