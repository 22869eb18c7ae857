import type { Kind } from "@fjord/base";
import type { ICSIDriver } from "kubernetes-models/storage.k8s.io/v1/CSIDriver";
import type { ICSINode } from "kubernetes-models/storage.k8s.io/v1/CSINode";
import type { ICSIStorageCapacity } from "kubernetes-models/storage.k8s.io/v1/CSIStorageCapacity";
import type { IStorageClass } from "kubernetes-models/storage.k8s.io/v1/StorageClass";
import type { IVolumeAttachment } from "kubernetes-models/storage.k8s.io/v1/VolumeAttachment";
import type { IVolumeAttributesClass } from "kubernetes-models/storage.k8s.io/v1/VolumeAttributesClass";
import type { Typed } from "./typed.ts";

const group = { group: "storage.k8s.io", version: "v1" } as const;

export type StorageClass = Typed<IStorageClass>;
export const StorageClass: Kind<StorageClass> = {
  ...group,
  kind: "StorageClass",
  plural: "storageclasses",
  namespaced: false,
};

export type CSIDriver = Typed<ICSIDriver>;
export const CSIDriver: Kind<CSIDriver> = { ...group, kind: "CSIDriver", plural: "csidrivers", namespaced: false };

export type CSINode = Typed<ICSINode>;
export const CSINode: Kind<CSINode> = { ...group, kind: "CSINode", plural: "csinodes", namespaced: false };

export type CSIStorageCapacity = Typed<ICSIStorageCapacity>;
export const CSIStorageCapacity: Kind<CSIStorageCapacity> = {
  ...group,
  kind: "CSIStorageCapacity",
  plural: "csistoragecapacities",
  namespaced: true,
};

export type VolumeAttachment = Typed<IVolumeAttachment>;
export const VolumeAttachment: Kind<VolumeAttachment> = {
  ...group,
  kind: "VolumeAttachment",
  plural: "volumeattachments",
  namespaced: false,
};

export type VolumeAttributesClass = Typed<IVolumeAttributesClass>;
export const VolumeAttributesClass: Kind<VolumeAttributesClass> = {
  ...group,
  kind: "VolumeAttributesClass",
  plural: "volumeattributesclasses",
  namespaced: false,
};
