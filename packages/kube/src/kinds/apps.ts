import type { Kind } from "@fjord/base";
import type { IControllerRevision } from "kubernetes-models/apps/v1/ControllerRevision";
import type { IDaemonSet } from "kubernetes-models/apps/v1/DaemonSet";
import type { IDeployment } from "kubernetes-models/apps/v1/Deployment";
import type { IReplicaSet } from "kubernetes-models/apps/v1/ReplicaSet";
import type { IStatefulSet } from "kubernetes-models/apps/v1/StatefulSet";
import type { Typed } from "./typed.ts";

const group = { group: "apps", version: "v1" } as const;

export type Deployment = Typed<IDeployment>;
export const Deployment: Kind<Deployment> = { ...group, kind: "Deployment", plural: "deployments", namespaced: true };

export type ReplicaSet = Typed<IReplicaSet>;
export const ReplicaSet: Kind<ReplicaSet> = { ...group, kind: "ReplicaSet", plural: "replicasets", namespaced: true };

export type StatefulSet = Typed<IStatefulSet>;
export const StatefulSet: Kind<StatefulSet> = {
  ...group,
  kind: "StatefulSet",
  plural: "statefulsets",
  namespaced: true,
};

export type DaemonSet = Typed<IDaemonSet>;
export const DaemonSet: Kind<DaemonSet> = { ...group, kind: "DaemonSet", plural: "daemonsets", namespaced: true };

export type ControllerRevision = Typed<IControllerRevision>;
export const ControllerRevision: Kind<ControllerRevision> = {
  ...group,
  kind: "ControllerRevision",
  plural: "controllerrevisions",
  namespaced: true,
};
