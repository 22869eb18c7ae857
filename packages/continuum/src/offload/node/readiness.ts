import type { Contract } from "@fjord/api";
import type { Reachability } from "../../remote-site.ts";

/** Whether the node can run pods, in the words of the VirtualNode's Ready condition. */
export interface Readiness {
  readonly status: "True" | "False" | "Unknown";
  readonly reason: "ProviderReady" | "ProviderUnreachable" | "ContractMissing" | "ContractNotActive";
  readonly message: string;
}

export interface Judgement {
  /** Absent while nothing can be said: a provider that has not been asked yet is neither there nor away. */
  readonly readiness?: Readiness;
  /** When it may become another by time alone: milliseconds from now. */
  readonly againInMs?: number;
}

const READY: Readiness = { status: "True", reason: "ProviderReady", message: "the provider answers" };

/** Says whether a node is ready. A provider counts as lost only when it has been silent for as long as the owner allows. */
export function judge(
  contract: Contract | undefined,
  reachability: Reachability | undefined,
  unreachableAfterMs: number,
  now: number,
): Judgement {
  const obstacle = obstacleIn(contract);
  if (obstacle !== undefined) return { readiness: obstacle };
  if (reachability === undefined) return { readiness: unreachable("the provider's Site is not known here") };
  if (reachability.reachable) return { readiness: READY };
  // From the first question in vain: that it was silent before, nobody has seen.
  const left = reachability.since + unreachableAfterMs - now;
  const heardBefore = reachability.lastHeard !== undefined;
  if (left > 0) return { ...(heardBefore && { readiness: READY }), againInMs: left };
  return { readiness: unreachable(silence(reachability)) };
}

function obstacleIn(contract: Contract | undefined): Readiness | undefined {
  if (contract === undefined)
    return { status: "False", reason: "ContractMissing", message: "there is no contract for this node" };
  const { name } = contract.metadata;
  const ended = contract.status?.conditions?.find(({ type, status }) => type === "Ended" && status === "True");
  if (ended !== undefined) return notActive(`contract ${name} has ended: ${ended.message || ended.reason}`);
  const begun = contract.status?.phase !== undefined && contract.status.phase !== "Proposed";
  return begun ? undefined : notActive(`contract ${name} is not in force yet`);
}

function silence({ lastHeard, message }: Reachability): string {
  const since = lastHeard === undefined ? "" : ` since ${new Date(lastHeard).toISOString()}`;
  return `the provider has not answered${since}: ${message}`;
}

function notActive(message: string): Readiness {
  return { status: "False", reason: "ContractNotActive", message };
}

function unreachable(message: string): Readiness {
  return { status: "Unknown", reason: "ProviderUnreachable", message };
}

/** Whether both say the same. */
export function sameReadiness(a: Readiness | undefined, b: Readiness | undefined): boolean {
  return a?.status === b?.status && a?.reason === b?.reason && a?.message === b?.message;
}
