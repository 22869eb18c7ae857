import type { Kind } from "@fjord/base";
import type { KindAndObject } from "./core-dns.ts";

const namespace = "kube-system";
const name = "metrics-server";

/** The user that metrics-server is for the API server and for kubelets. */
export const metricsServerUser = "system:metrics-server";

/** What makes an API server serve `metrics.k8s.io` by a metrics-server at an address that is no pod's. */
export function metricsServerObjects(address: string, port: number): KindAndObject[] {
  return [
    { kind: kinds.clusterRoles, object: clusterRole() },
    { kind: kinds.clusterRoleBindings, object: binding("ClusterRoleBinding", metricsServerUser, metricsServerUser) },
    {
      kind: kinds.clusterRoleBindings,
      object: binding("ClusterRoleBinding", `${name}:system:auth-delegator`, "system:auth-delegator"),
    },
    {
      kind: kinds.roleBindings,
      object: binding("RoleBinding", `${name}-auth-reader`, "extension-apiserver-authentication-reader"),
    },
    { kind: kinds.services, object: service() },
    { kind: kinds.endpointSlices, object: endpointSlice(address, port) },
    { kind: kinds.apiServices, object: apiService() },
  ];
}

function clusterRole() {
  return {
    apiVersion: "rbac.authorization.k8s.io/v1",
    kind: "ClusterRole",
    metadata: { name: metricsServerUser },
    rules: [
      { apiGroups: [""], resources: ["nodes/metrics"], verbs: ["get"] },
      { apiGroups: [""], resources: ["pods", "nodes"], verbs: ["get", "list", "watch"] },
    ],
  };
}

function binding(kind: "ClusterRoleBinding" | "RoleBinding", bindingName: string, role: string) {
  const roleKind = kind === "RoleBinding" ? "Role" : "ClusterRole";
  return {
    apiVersion: "rbac.authorization.k8s.io/v1",
    kind,
    metadata: { name: bindingName, ...(kind === "RoleBinding" && { namespace }) },
    roleRef: { apiGroup: rbac, kind: roleKind, name: role },
    subjects: [{ apiGroup: rbac, kind: "User", name: metricsServerUser }],
  };
}

/** Without a selector: its only endpoint is the one below. */
function service() {
  return {
    apiVersion: "v1",
    kind: "Service",
    metadata: { name, namespace },
    spec: { ports: [{ name: "https", port: 443, protocol: "TCP" }] },
  };
}

function endpointSlice(address: string, port: number) {
  return {
    apiVersion: "discovery.k8s.io/v1",
    kind: "EndpointSlice",
    metadata: { name, namespace, labels: { "kubernetes.io/service-name": name } },
    addressType: "IPv4",
    endpoints: [{ addresses: [address], conditions: { ready: true } }],
    ports: [{ name: "https", port, protocol: "TCP" }],
  };
}

function apiService() {
  return {
    apiVersion: "apiregistration.k8s.io/v1",
    kind: "APIService",
    metadata: { name: metricsApi },
    spec: {
      group: "metrics.k8s.io",
      version: "v1beta1",
      service: { name, namespace },
      // Its certificate is one that it made for itself.
      insecureSkipTLSVerify: true,
      groupPriorityMinimum: 100,
      versionPriority: 100,
    },
  };
}

/** The name of its APIService. */
export const metricsApi = "v1beta1.metrics.k8s.io";

const rbac = "rbac.authorization.k8s.io";
const kinds = {
  services: kindOf("", "Service", "services", true),
  endpointSlices: kindOf("discovery.k8s.io", "EndpointSlice", "endpointslices", true),
  roleBindings: kindOf(rbac, "RoleBinding", "rolebindings", true),
  clusterRoles: kindOf(rbac, "ClusterRole", "clusterroles", false),
  clusterRoleBindings: kindOf(rbac, "ClusterRoleBinding", "clusterrolebindings", false),
  apiServices: kindOf("apiregistration.k8s.io", "APIService", "apiservices", false),
};

function kindOf(group: string, kind: string, plural: string, namespaced: boolean): Kind {
  return { group, version: "v1", kind, plural, namespaced };
}
