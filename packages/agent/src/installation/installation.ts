import type { KubeObject } from "@fjord/base";
import { type AgentParts, agentObjects, networkPolicy } from "./agent-objects.ts";
import type { InstallValues } from "./install-values.ts";
import { followerObjects, gatewayObjects, type LinkParts } from "./link-objects.ts";
import { followerRights, gatewayRights } from "./link-rights.ts";
import { manifests } from "./manifests.ts";

/** Everything that makes a cluster a site with its agent as a pod, in the order in which it is applied. */
export function installation(namespace: string, values: InstallValues): KubeObject[] {
  const base = manifests({ namespace });
  const wanted = values.crds.install ? base : base.filter(({ kind }) => kind !== "CustomResourceDefinition");
  const parts = partsOf(namespace, values);
  return [
    ...wanted,
    ...(values.networkPolicy.enabled ? [networkPolicy(parts)] : []),
    ...agentObjects(parts),
    ...(values.gateway.enabled ? links(parts, values) : []),
  ];
}

/** Gateways, and followers on the other nodes where not all nodes may be gateways. */
function links(agent: AgentParts, { gateway }: InstallValues): KubeObject[] {
  const { namespace } = agent;
  const { nodeLabel, endpoint, metrics, extraArgs, resources, tolerations } = gateway;
  const parts: LinkParts = { ...agent, isScraped: metrics.enabled, options: extraArgs, resources, tolerations };
  const own = endpoint === "" ? [] : [`--endpoint=${endpoint}`];
  const carrying = { ...parts, options: [...own, ...extraArgs], ...(nodeLabel !== "" && { nodeLabel }) };
  return [
    ...gatewayRights(namespace),
    ...gatewayObjects(carrying),
    ...(nodeLabel === "" ? [] : [...followerRights(namespace), ...followerObjects({ ...parts, nodeLabel })]),
  ];
}

function partsOf(namespace: string, values: InstallValues): AgentParts {
  return {
    namespace,
    image: `${values.image.repository}:${values.image.tag}`,
    pullPolicy: values.image.pullPolicy,
    pullSecrets: values.imagePullSecrets,
    replicas: values.replicas,
    options: optionsOf(values),
    serviceType: values.service.type,
    servicePort: values.service.port,
    resources: values.resources,
    nodeSelector: values.nodeSelector,
    tolerations: values.tolerations,
  };
}

function optionsOf({ siteName, tier, endpoints, guestPrivileges, extraArgs }: InstallValues): string[] {
  return [
    ...(siteName === "" ? [] : [`--site-name=${siteName}`]),
    ...(tier === "" ? [] : [`--tier=${tier}`]),
    ...endpoints.map((endpoint) => `--endpoint=${endpoint}`),
    ...guestPrivileges.map((privilege) => `--guest-privilege=${privilege}`),
    ...extraArgs,
  ];
}
