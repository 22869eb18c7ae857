import type { Kind } from "@fjord/base";
import type { IConfigMap } from "kubernetes-models/v1/ConfigMap";
import type { IEndpoints } from "kubernetes-models/v1/Endpoints";
import type { IEvent } from "kubernetes-models/v1/Event";
import type { ILimitRange } from "kubernetes-models/v1/LimitRange";
import type { INamespace } from "kubernetes-models/v1/Namespace";
import type { INode } from "kubernetes-models/v1/Node";
import type { IPersistentVolume } from "kubernetes-models/v1/PersistentVolume";
import type { IPersistentVolumeClaim } from "kubernetes-models/v1/PersistentVolumeClaim";
import type { IPod } from "kubernetes-models/v1/Pod";
import type { IPodTemplate } from "kubernetes-models/v1/PodTemplate";
import type { IReplicationController } from "kubernetes-models/v1/ReplicationController";
import type { IResourceQuota } from "kubernetes-models/v1/ResourceQuota";
import type { ISecret } from "kubernetes-models/v1/Secret";
import type { IService } from "kubernetes-models/v1/Service";
import type { IServiceAccount } from "kubernetes-models/v1/ServiceAccount";
import type { Typed } from "./typed.ts";

const group = { group: "", version: "v1" } as const;

export type Pod = Typed<IPod>;
export const Pod: Kind<Pod> = { ...group, kind: "Pod", plural: "pods", namespaced: true };

export type Node = Typed<INode>;
export const Node: Kind<Node> = { ...group, kind: "Node", plural: "nodes", namespaced: false };

export type Namespace = Typed<INamespace>;
export const Namespace: Kind<Namespace> = { ...group, kind: "Namespace", plural: "namespaces", namespaced: false };

export type Service = Typed<IService>;
export const Service: Kind<Service> = { ...group, kind: "Service", plural: "services", namespaced: true };

export type Endpoints = Typed<IEndpoints>;
export const Endpoints: Kind<Endpoints> = { ...group, kind: "Endpoints", plural: "endpoints", namespaced: true };

export type ConfigMap = Typed<IConfigMap>;
export const ConfigMap: Kind<ConfigMap> = { ...group, kind: "ConfigMap", plural: "configmaps", namespaced: true };

export type Secret = Typed<ISecret>;
export const Secret: Kind<Secret> = { ...group, kind: "Secret", plural: "secrets", namespaced: true };

export type ServiceAccount = Typed<IServiceAccount>;
export const ServiceAccount: Kind<ServiceAccount> = {
  ...group,
  kind: "ServiceAccount",
  plural: "serviceaccounts",
  namespaced: true,
};

export type PersistentVolume = Typed<IPersistentVolume>;
export const PersistentVolume: Kind<PersistentVolume> = {
  ...group,
  kind: "PersistentVolume",
  plural: "persistentvolumes",
  namespaced: false,
};

export type PersistentVolumeClaim = Typed<IPersistentVolumeClaim>;
export const PersistentVolumeClaim: Kind<PersistentVolumeClaim> = {
  ...group,
  kind: "PersistentVolumeClaim",
  plural: "persistentvolumeclaims",
  namespaced: true,
};

export type ResourceQuota = Typed<IResourceQuota>;
export const ResourceQuota: Kind<ResourceQuota> = {
  ...group,
  kind: "ResourceQuota",
  plural: "resourcequotas",
  namespaced: true,
};

export type LimitRange = Typed<ILimitRange>;
export const LimitRange: Kind<LimitRange> = { ...group, kind: "LimitRange", plural: "limitranges", namespaced: true };

export type ReplicationController = Typed<IReplicationController>;
export const ReplicationController: Kind<ReplicationController> = {
  ...group,
  kind: "ReplicationController",
  plural: "replicationcontrollers",
  namespaced: true,
};

export type PodTemplate = Typed<IPodTemplate>;
export const PodTemplate: Kind<PodTemplate> = {
  ...group,
  kind: "PodTemplate",
  plural: "podtemplates",
  namespaced: true,
};

export type CoreEvent = Typed<IEvent>;
export const CoreEvent: Kind<CoreEvent> = { ...group, kind: "Event", plural: "events", namespaced: true };
