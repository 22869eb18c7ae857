export { type AuditLine, type AuditSink, auditLog } from "./audit.ts";
export { IngressHosts, type IngressHostsOptions } from "./ingress-hosts.ts";
export type { KubePath } from "./kube-path.ts";
export { type AcceptedWrite, KubeProxy, type KubeProxyOptions } from "./kube-proxy.ts";
export type { CustomResource } from "./rules.ts";
export { StoredObjects, type StoredObjectsOptions } from "./stored-objects.ts";
export { type ObjectPolicy, objectPolicy, TenantObjects, type TenantObjectsOptions } from "./tenant-objects.ts";
export { defaultTenantLimits, type TenantLimits } from "./tenant-traffic.ts";
export { TwinNamespaces, type TwinNamespacesOptions } from "./twin-namespaces.ts";
