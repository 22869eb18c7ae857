import { CONSUMER_LABEL, ORIGIN_NAMESPACE_LABEL, TENANT_SERVICE_ACCOUNT, tenantNamespace } from "@fjord/api";
import { type Namespace, type RoleBinding, sameContent } from "@fjord/kube";
import type { SiteId } from "../../site-identity.ts";

export const TENANT_BINDING = "fjord-tenant";

/** The namespace that a consumer's namespace `origin` has here. What Fjord goes by goes before what the owner adds. */
export function forgeTwin(
  name: string,
  consumer: SiteId,
  origin: string,
  labels: Readonly<Record<string, string>>,
): Namespace {
  return {
    apiVersion: "v1",
    kind: "Namespace",
    metadata: { name, labels: { ...labels, [CONSUMER_LABEL]: consumer, [ORIGIN_NAMESPACE_LABEL]: origin } },
  };
}

/** What lets the consumer's service account work in its twin. */
export function forgeBinding(twin: string, consumer: SiteId, origin: string, role: string): RoleBinding {
  const labels = { [CONSUMER_LABEL]: consumer, [ORIGIN_NAMESPACE_LABEL]: origin };
  return {
    apiVersion: "rbac.authorization.k8s.io/v1",
    kind: "RoleBinding",
    metadata: { name: TENANT_BINDING, namespace: twin, labels },
    roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name: role },
    subjects: [{ kind: "ServiceAccount", name: TENANT_SERVICE_ACCOUNT, namespace: tenantNamespace(consumer) }],
  };
}

/** Whether a role is given as it is to be, no more and no less. */
export function gives(found: RoleBinding, wanted: RoleBinding): boolean {
  return (
    found.metadata.deletionTimestamp === undefined &&
    sameContent(found.roleRef, wanted.roleRef) &&
    sameContent(found.subjects, wanted.subjects)
  );
}

/** Whether a namespace is this very twin. No other is ever touched. */
export function isTwin({ metadata }: Namespace, consumer: SiteId, origin: string): boolean {
  const labels = metadata.labels ?? {};
  return labels[CONSUMER_LABEL] === consumer && labels[ORIGIN_NAMESPACE_LABEL] === origin;
}

/**
 * Why a consumer is not given a name; undefined where it is. What the owner installs later, into a namespace that is there by
 * then, would be the consumer's to read: names of system components are not given, `istio-system` for one.
 */
export function nameRefusal(name: string, consumer: SiteId, agentNamespace: string): string | undefined {
  if (name === "default" || name === agentNamespace || /^(kube|fjord|openshift)-|-system$/.test(name))
    return `${name} is a name that the provider keeps for itself`;
  const [, id] = /-([a-z2-7]{26})$/.exec(name) ?? [];
  // Whoever could take it would keep that site's namespaces from having their twins here.
  return id === undefined || id === consumer ? undefined : `${name} ends with the id of another site`;
}
