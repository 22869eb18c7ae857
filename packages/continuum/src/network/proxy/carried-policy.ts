import type { NetworkPolicy, Pod } from "@fjord/kube";
import { concerns, type PolicyDirection, type PolicyPort, policyAnswer } from "../path/policy-hop.ts";

/** One end of what is carried, as this site calls it. */
export interface Party {
  readonly address: string;
  /** With its labels, as far as they are known. */
  readonly pod?: Pod;
}

export interface CarriedQuestion {
  /** Of both ends. */
  readonly namespace: string;
  readonly port: PolicyPort;
  /** Absent where nobody can tell which pod it is. */
  readonly client?: Party;
  readonly server: Party;
  /** Whose policies are asked: the client's for whom it may reach, the server's for who may reach it. */
  readonly directions: readonly PolicyDirection[];
  readonly policies: readonly NetworkPolicy[];
  readonly namespaces: ReadonlyMap<string, Readonly<Record<string, string>>>;
}

export interface PolicyRefusal {
  readonly reason: "Policy" | "ClientUnknown";
  readonly what: string;
}

/** An address that no policy has. */
const NOWHERE = "0.0.0.0";

/** Why NetworkPolicies do not let the two meet; undefined where they do. A client that nobody knows meets those that anybody may. */
export function policyRefusal(question: CarriedQuestion): PolicyRefusal | undefined {
  const { namespace, port, client, server, directions, namespaces } = question;
  const policies = question.policies.filter(({ metadata }) => metadata.namespace === namespace);
  if (policies.length === 0) return undefined;
  for (const direction of directions) {
    if (direction === "Egress" && client?.pod === undefined) {
      const some = policies.find((policy) => concerns(policy, "Egress"));
      if (some === undefined) continue;
      return {
        reason: "ClientUnknown",
        what: `NetworkPolicy ${some.metadata.name} says whom pods may reach, and it is not known which pod this is`,
      };
    }
    const pod = direction === "Egress" ? client?.pod : server.pod;
    if (pod === undefined) continue;
    const other = (direction === "Egress" ? server : client) ?? { address: NOWHERE };
    const answer = policyAnswer({ direction, pod, other, policies, namespaces, port });
    if (answer?.verdict !== "Dropped") continue;
    const isUnknown = direction === "Ingress" && client?.pod === undefined;
    return { reason: isUnknown ? "ClientUnknown" : "Policy", what: `${answer.what} (${answer.rule})` };
  }
  return undefined;
}
