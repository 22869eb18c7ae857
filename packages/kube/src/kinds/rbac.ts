import type { Kind } from "@fjord/base";
import type { IClusterRole } from "kubernetes-models/rbac.authorization.k8s.io/v1/ClusterRole";
import type { IClusterRoleBinding } from "kubernetes-models/rbac.authorization.k8s.io/v1/ClusterRoleBinding";
import type { IRole } from "kubernetes-models/rbac.authorization.k8s.io/v1/Role";
import type { IRoleBinding } from "kubernetes-models/rbac.authorization.k8s.io/v1/RoleBinding";
import type { Typed } from "./typed.ts";

const group = { group: "rbac.authorization.k8s.io", version: "v1" } as const;

export type Role = Typed<IRole>;
export const Role: Kind<Role> = { ...group, kind: "Role", plural: "roles", namespaced: true };

export type RoleBinding = Typed<IRoleBinding>;
export const RoleBinding: Kind<RoleBinding> = {
  ...group,
  kind: "RoleBinding",
  plural: "rolebindings",
  namespaced: true,
};

export type ClusterRole = Typed<IClusterRole>;
export const ClusterRole: Kind<ClusterRole> = {
  ...group,
  kind: "ClusterRole",
  plural: "clusterroles",
  namespaced: false,
};

export type ClusterRoleBinding = Typed<IClusterRoleBinding>;
export const ClusterRoleBinding: Kind<ClusterRoleBinding> = {
  ...group,
  kind: "ClusterRoleBinding",
  plural: "clusterrolebindings",
  namespaced: false,
};
