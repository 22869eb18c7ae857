import type { Kind, KubeObject } from "@fjord/base";
import { ClusterRole, ClusterRoleBinding } from "@fjord/kube";

const NAME = "fjord:node-services";

/** A node that serves Services and their names reads them, beyond what any kubelet may. */
export function nodeRights(): { kind: Kind<KubeObject>; object: KubeObject }[] {
  const read = ["get", "list", "watch"];
  const role: ClusterRole = {
    apiVersion: "rbac.authorization.k8s.io/v1",
    kind: "ClusterRole",
    metadata: { name: NAME },
    rules: [
      { apiGroups: [""], resources: ["services", "namespaces"], verbs: read },
      { apiGroups: ["discovery.k8s.io"], resources: ["endpointslices"], verbs: read },
    ],
  };
  const binding: ClusterRoleBinding = {
    apiVersion: "rbac.authorization.k8s.io/v1",
    kind: "ClusterRoleBinding",
    metadata: { name: NAME },
    roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name: NAME },
    subjects: [{ apiGroup: "rbac.authorization.k8s.io", kind: "Group", name: "system:nodes" }],
  };
  return [
    { kind: ClusterRole as unknown as Kind<KubeObject>, object: role },
    { kind: ClusterRoleBinding as unknown as Kind<KubeObject>, object: binding },
  ];
}
