import { group } from "@fjord/api";
import type { ClusterRole } from "@fjord/kube";

type Rule = NonNullable<ClusterRole["rules"]>[number];

const read = ["get", "list", "watch"];
const write = ["create", "update", "patch", "delete"];
const all = [...read, ...write];

const rule = (apiGroups: string, resources: string[], verbs: string[]): Rule => ({
  apiGroups: [apiGroups],
  resources,
  verbs,
});

/** What an agent may do in its own cluster, and why. */
export function agentRules(): Rule[] {
  return [
    // Its own kinds.
    rule(group, ["*"], [...all, "deletecollection"]),
    // Consumer: virtual nodes, their leases, the pods on them.
    rule("", ["nodes", "nodes/status"], all),
    rule("coordination.k8s.io", ["leases"], all),
    rule("", ["pods"], all),
    rule("", ["pods/status", "pods/ephemeralcontainers", "pods/resize"], ["get", "update", "patch"]),
    rule("", ["pods/eviction"], ["create"]),
    // Consumer: certificates of the kubelet APIs of virtual nodes, asked for as those nodes.
    rule("certificates.k8s.io", ["certificatesigningrequests"], ["get", "create", "delete"]),
    rule("certificates.k8s.io", ["certificatesigningrequests/approval"], ["update"]),
    { ...rule("certificates.k8s.io", ["signers"], ["approve"]), resourceNames: ["kubernetes.io/kubelet-serving"] },
    rule("", ["serviceaccounts/token"], ["create"]),
    rule("authentication.k8s.io", ["tokenreviews"], ["create"]),
    rule("authorization.k8s.io", ["subjectaccessreviews"], ["create"]),
    // Both: events, and what is reflected.
    rule("", ["events"], all),
    rule("events.k8s.io", ["events"], all),
    rule("", ["configmaps", "secrets", "services", "persistentvolumeclaims", "endpoints"], all),
    rule("", ["persistentvolumeclaims/status"], ["get", "patch"]),
    rule("discovery.k8s.io", ["endpointslices", "endpointslices/restricted"], all),
    rule("networking.k8s.io", ["ingresses", "networkpolicies"], all),
    // Both: what addresses the own Services have, so that no peer is called by one of them.
    rule("networking.k8s.io", ["servicecidrs"], read),
    rule("policy", ["poddisruptionbudgets"], all),
    // Provider: tenants and twin namespaces. It can give away only what it has itself.
    rule("", ["namespaces", "serviceaccounts", "resourcequotas"], all),
    rule("rbac.authorization.k8s.io", ["roles", "rolebindings", "clusterroles"], [...all, "bind"]),
    rule("", ["serviceaccounts", "groups", "users"], ["impersonate"]),
    rule("", ["pods/log"], ["get"]),
    rule("", ["pods/exec", "pods/attach", "pods/portforward"], ["get", "create"]),
    rule("", ["nodes/proxy", "nodes/stats", "nodes/metrics"], ["get"]),
    // Admission of pods in offloaded namespaces.
    rule("admissionregistration.k8s.io", ["mutatingwebhookconfigurations", "validatingwebhookconfigurations"], all),
    rule("apps", ["daemonsets"], read),
    // The page: what made the pods that it shows, and the requests by which viewers say who they are.
    rule("apps", ["deployments", "statefulsets"], read),
    rule("batch", ["jobs"], read),
  ];
}
