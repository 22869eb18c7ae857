import type { Kind, KubeObject } from "@fjord/base";
import { ClusterRole, ClusterRoleBinding, isNotFound, type KubeClient } from "@fjord/kube";

const NAME = "fjord:node-services";
/** Whoever applies these is `fjord micro`. */
export const MICRO_FIELD_MANAGER = "fjord-micro";

/** Whether a cluster is the control plane of a `fjord micro`, whose agent is no more to be removed than the plane itself. */
export async function isMicroSite(client: Pick<KubeClient, "get">, signal: AbortSignal): Promise<boolean> {
  try {
    const { metadata } = await client.get(ClusterRole, { name: NAME }, { signal });
    const managers = (metadata.managedFields ?? []) as readonly { readonly manager?: string }[];
    return managers.some(({ manager }) => manager === MICRO_FIELD_MANAGER);
  } catch (error) {
    if (isNotFound(error)) return false;
    throw error;
  }
}

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
