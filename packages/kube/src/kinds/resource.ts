import type { Kind } from "@fjord/base";
import type { IDeviceClass } from "kubernetes-models/resource.k8s.io/v1/DeviceClass";
import type { IResourceClaim } from "kubernetes-models/resource.k8s.io/v1/ResourceClaim";
import type { IResourceClaimTemplate } from "kubernetes-models/resource.k8s.io/v1/ResourceClaimTemplate";
import type { IResourceSlice } from "kubernetes-models/resource.k8s.io/v1/ResourceSlice";
import type { Typed } from "./typed.ts";

const group = { group: "resource.k8s.io", version: "v1" } as const;

export type DeviceClass = Typed<IDeviceClass>;
export const DeviceClass: Kind<DeviceClass> = {
  ...group,
  kind: "DeviceClass",
  plural: "deviceclasses",
  namespaced: false,
};

export type ResourceClaim = Typed<IResourceClaim>;
export const ResourceClaim: Kind<ResourceClaim> = {
  ...group,
  kind: "ResourceClaim",
  plural: "resourceclaims",
  namespaced: true,
};

export type ResourceClaimTemplate = Typed<IResourceClaimTemplate>;
export const ResourceClaimTemplate: Kind<ResourceClaimTemplate> = {
  ...group,
  kind: "ResourceClaimTemplate",
  plural: "resourceclaimtemplates",
  namespaced: true,
};

export type ResourceSlice = Typed<IResourceSlice>;
export const ResourceSlice: Kind<ResourceSlice> = {
  ...group,
  kind: "ResourceSlice",
  plural: "resourceslices",
  namespaced: false,
};
