import { AGENT_NAMESPACE } from "./labels.ts";

const KEPT = /^(kube-system|kube-public|kube-node-lease|fjord-tenant-.*)$/;

/** Namespaces that never extend to other sites: the system's, the agent's, and what other sites keep here. */
export function isKeptNamespace(name: string, agentNamespace: string = AGENT_NAMESPACE): boolean {
  return name === agentNamespace || KEPT.test(name);
}
