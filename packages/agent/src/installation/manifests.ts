import { customResourceDefinitions } from "@fjord/api/manifests";
import type { KubeObject } from "@fjord/base";
import { agentRules } from "./agent-rules.ts";

export interface ManifestOptions {
  /** Where the agent keeps its own objects. */
  readonly namespace: string;
}

/** The name of everything that is the agent's. */
export const AGENT_NAME = "fjord-agent";

/** Everything that a cluster needs before an agent runs in it or beside it, in the order in which it is applied. */
export function manifests({ namespace }: ManifestOptions): KubeObject[] {
  const metadata = { name: AGENT_NAME, labels: { "app.kubernetes.io/name": "fjord" } };
  return [
    ...(customResourceDefinitions() as KubeObject[]),
    { apiVersion: "v1", kind: "Namespace", metadata: { name: namespace, labels: metadata.labels } },
    { apiVersion: "v1", kind: "ServiceAccount", metadata: { ...metadata, namespace } },
    {
      apiVersion: "rbac.authorization.k8s.io/v1",
      kind: "ClusterRole",
      metadata,
      rules: agentRules(),
    } as KubeObject,
    {
      apiVersion: "rbac.authorization.k8s.io/v1",
      kind: "ClusterRoleBinding",
      metadata,
      roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name: AGENT_NAME },
      subjects: [{ kind: "ServiceAccount", name: AGENT_NAME, namespace }],
    } as KubeObject,
  ];
}
