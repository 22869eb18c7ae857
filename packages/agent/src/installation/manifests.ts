import { customResourceDefinitions } from "@fjord/api/manifests";
import type { KubeObject } from "@fjord/base";
import { agentRules } from "./agent-rules.ts";

export interface ManifestOptions {
  /** Where the agent keeps its own objects. */
  readonly namespace: string;
}

/** The name of everything that is the agent's. */
export const AGENT_NAME = "fjord-agent";

/** On a ClusterRole: the agent has its rights too, such as those to custom resources that are to be reflected. Value `true`. */
export const AGGREGATE_LABEL = "fjord.dev/aggregate-to-agent";
const CUSTOM_ROLE = `${AGENT_NAME}-custom`;

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
    {
      apiVersion: "rbac.authorization.k8s.io/v1",
      kind: "ClusterRole",
      metadata: { ...metadata, name: CUSTOM_ROLE },
      aggregationRule: { clusterRoleSelectors: [{ matchLabels: { [AGGREGATE_LABEL]: "true" } }] },
    } as KubeObject,
    {
      apiVersion: "rbac.authorization.k8s.io/v1",
      kind: "ClusterRoleBinding",
      metadata: { ...metadata, name: CUSTOM_ROLE },
      roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name: CUSTOM_ROLE },
      subjects: [{ kind: "ServiceAccount", name: AGENT_NAME, namespace }],
    } as KubeObject,
  ];
}
