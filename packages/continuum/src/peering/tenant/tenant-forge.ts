import { group, type Site, TENANT_SERVICE_ACCOUNT, TwinNamespace, tenantNamespace } from "@fjord/api";
import type { KubeObject } from "@fjord/base";
import {
  type ClusterRole,
  type Namespace,
  type Role,
  type RoleBinding,
  type ServiceAccount,
  sameContent,
} from "@fjord/kube";
import type { SiteId } from "../../site-identity.ts";
import type { Tenant } from "../../tenants.ts";

/** On a tenant's namespace: the id of the consumer whose it is. Twin namespaces have another label. */
export const TENANT_LABEL = "fjord.dev/tenant";
/** What a tenant may do in each of its twin namespaces, bound there by a RoleBinding. */
export const TENANT_CLUSTER_ROLE = "fjord-tenant";

type Rule = NonNullable<Role["rules"]>[number];

const all = ["get", "list", "watch", "create", "update", "patch", "delete"];
const read = ["get", "list", "watch"];
const rbac = { apiVersion: "rbac.authorization.k8s.io/v1" } as const;
const builtIn = new Set(["", "discovery.k8s.io", "events.k8s.io", "networking.k8s.io", "policy", group]);

export function tenantOf(consumer: SiteId): Tenant {
  const namespace = tenantNamespace(consumer);
  return { consumer, namespace, user: `system:serviceaccount:${namespace}:${TENANT_SERVICE_ACCOUNT}` };
}

export function forgeNamespace(consumer: SiteId): Namespace {
  const metadata = { name: tenantNamespace(consumer), labels: { [TENANT_LABEL]: consumer } };
  return { apiVersion: "v1", kind: "Namespace", metadata };
}

export function forgeServiceAccount(consumer: SiteId): ServiceAccount {
  const metadata = { name: TENANT_SERVICE_ACCOUNT, namespace: tenantNamespace(consumer) };
  return { apiVersion: "v1", kind: "ServiceAccount", metadata, automountServiceAccountToken: false };
}

/** What the tenant may do in its own namespace: ask for twins of its namespaces. */
export function forgeRole(consumer: SiteId): Role {
  const verbs = [...read, "create", "delete"];
  const metadata = { name: TENANT_SERVICE_ACCOUNT, namespace: tenantNamespace(consumer) };
  const rules: Rule[] = [{ apiGroups: [group], resources: [TwinNamespace.plural], verbs }];
  return { ...rbac, kind: "Role", metadata, rules };
}

export function forgeRoleBinding(consumer: SiteId): RoleBinding {
  const namespace = tenantNamespace(consumer);
  return {
    ...rbac,
    kind: "RoleBinding",
    metadata: { name: TENANT_SERVICE_ACCOUNT, namespace },
    roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "Role", name: TENANT_SERVICE_ACCOUNT },
    subjects: [{ kind: "ServiceAccount", name: TENANT_SERVICE_ACCOUNT, namespace }],
  };
}

/** The consumer in whose tenant namespace an object is. */
export function consumerOf({ metadata: { namespace = "" } }: KubeObject): SiteId | undefined {
  const prefix = tenantNamespace("");
  return namespace.startsWith(prefix) ? namespace.slice(prefix.length) : undefined;
}

/** Whether the role of a tenant in its own namespace, or what gives it that, is as it was forged. */
export function hasRights(object: Role | RoleBinding): boolean {
  const consumer = consumerOf(object) ?? "";
  return "roleRef" in object
    ? sameContent(object.subjects, forgeRoleBinding(consumer).subjects)
    : sameContent(object.rules, forgeRole(consumer).rules);
}

/** The rights of every tenant in its twin namespaces: what its pods and their twins need, and nothing else. */
export function forgeClusterRole(reflection: Site["spec"]["reflection"]): ClusterRole {
  const rules: Rule[] = [
    { apiGroups: [group], resources: ["shadowpods"], verbs: all },
    { apiGroups: [""], resources: ["configmaps", "secrets", "services", "persistentvolumeclaims"], verbs: all },
    { apiGroups: ["discovery.k8s.io"], resources: ["endpointslices"], verbs: all },
    { apiGroups: ["networking.k8s.io"], resources: ["ingresses", "networkpolicies"], verbs: all },
    { apiGroups: ["policy"], resources: ["poddisruptionbudgets"], verbs: all },
    { apiGroups: [""], resources: ["pods", "events"], verbs: read },
    { apiGroups: ["events.k8s.io"], resources: ["events"], verbs: read },
    { apiGroups: [""], resources: ["pods/log"], verbs: ["get"] },
    { apiGroups: [""], resources: ["pods/exec", "pods/attach", "pods/portforward"], verbs: ["get", "create"] },
    ...customRules(reflection),
  ];
  return { ...rbac, kind: "ClusterRole", metadata: { name: TENANT_CLUSTER_ROLE }, rules };
}

/** Custom resources that the owner lists; one that names a built-in kind gives no more rights than the rules above. */
function customRules(reflection: Site["spec"]["reflection"] = []): Rule[] {
  return reflection
    .filter((rule) => rule.policy !== "Never" && !builtIn.has(rule.group) && !isReserved(rule.group))
    .map((rule) => ({ apiGroups: [rule.group], resources: [rule.resource], verbs: all }));
}

/** Kubernetes' own groups, such as rbac.authorization.k8s.io, and apps: nothing in them is a custom resource. */
function isReserved(name: string): boolean {
  return !name.includes(".") || name.endsWith(".k8s.io") || name.endsWith(".kubernetes.io");
}
