import { group } from "@fjord/api";
import type { KubeObject } from "@fjord/base";
import { GATEWAY_LEASE, LINK_SECRET } from "@fjord/continuum/gateway";
import { CAPTURE_VERB } from "../capture-access.ts";

/** The name of everything that nodes have which may carry the site's links. */
export const GATEWAY_NAME = "fjord-gateway";
/** And of those that only lead their pods to such a node. */
export const FOLLOWER_NAME = "fjord-follower";

/** And of the right to see what links carry. */
export const CAPTURE_NAME = "fjord-capture";

const labels = { "app.kubernetes.io/name": "fjord" };
const RBAC = "rbac.authorization.k8s.io";
const read = ["get", "list", "watch"];

const rule = (apiGroups: string, resources: string[], verbs: string[], ...names: string[]) => ({
  apiGroups: [apiGroups],
  resources,
  verbs,
  ...(names.length > 0 && { resourceNames: names }),
});

/** What a node needs that only follows: it never sees the key, and says nothing. */
const followerRules = [rule(group, ["sites", "addressplans", "links"], read)];

const gatewayRules = [
  ...followerRules,
  // What peers reach besides pods.
  rule(group, ["exports"], read),
  // How links are, and who carries them.
  rule(group, ["links/status", "sites/status"], ["patch"]),
  // Where the others are.
  rule("", ["nodes"], read),
  // Who asks to see packets, and whether they may.
  rule("certificates.k8s.io", ["certificatesigningrequests"], ["get"]),
  rule("authorization.k8s.io", ["subjectaccessreviews"], ["create"]),
];

const gatewayRulesInNamespace = [
  rule("", ["secrets"], read, LINK_SECRET),
  rule("coordination.k8s.io", ["leases"], ["get", "update"], GATEWAY_LEASE),
  // What is not there yet has no name by which it could be granted.
  rule("coordination.k8s.io", ["leases"], ["create"]),
];

/** What it takes to see packets of links: nobody has it unless somebody binds it to them. */
const captureRules = [
  rule(group, ["sites", "links"], read),
  rule(group, ["links"], [CAPTURE_VERB]),
  // To show who one is.
  rule("certificates.k8s.io", ["certificatesigningrequests"], ["create"]),
];

const captureRulesInNamespace = [
  rule("", ["pods"], ["get", "list"]),
  rule("", ["pods/portforward"], ["get", "create"]),
];

/** ServiceAccount and rights of nodes that may carry links, and what others need to look into these. */
export function gatewayRights(namespace: string): KubeObject[] {
  return [
    ...clusterRights(GATEWAY_NAME, namespace, gatewayRules),
    {
      apiVersion: `${RBAC}/v1`,
      kind: "Role",
      metadata: { name: GATEWAY_NAME, namespace, labels },
      rules: gatewayRulesInNamespace,
    } as KubeObject,
    {
      apiVersion: `${RBAC}/v1`,
      kind: "RoleBinding",
      metadata: { name: GATEWAY_NAME, namespace, labels },
      roleRef: { apiGroup: RBAC, kind: "Role", name: GATEWAY_NAME },
      subjects: [{ kind: "ServiceAccount", name: GATEWAY_NAME, namespace }],
    } as KubeObject,
    {
      apiVersion: `${RBAC}/v1`,
      kind: "ClusterRole",
      metadata: { name: CAPTURE_NAME, labels },
      rules: captureRules,
    } as KubeObject,
    {
      apiVersion: `${RBAC}/v1`,
      kind: "Role",
      metadata: { name: CAPTURE_NAME, namespace, labels },
      rules: captureRulesInNamespace,
    } as KubeObject,
  ];
}

/** ServiceAccount and rights of nodes that lead their pods to one that carries links. */
export function followerRights(namespace: string): KubeObject[] {
  return clusterRights(FOLLOWER_NAME, namespace, followerRules);
}

function clusterRights(name: string, namespace: string, rules: readonly object[]): KubeObject[] {
  return [
    { apiVersion: "v1", kind: "ServiceAccount", metadata: { name, namespace, labels } },
    { apiVersion: `${RBAC}/v1`, kind: "ClusterRole", metadata: { name, labels }, rules } as KubeObject,
    {
      apiVersion: `${RBAC}/v1`,
      kind: "ClusterRoleBinding",
      metadata: { name, labels },
      roleRef: { apiGroup: RBAC, kind: "ClusterRole", name },
      subjects: [{ kind: "ServiceAccount", name, namespace }],
    } as KubeObject,
  ];
}
