import type { Contract } from "@fjord/api";
import type { Reachability } from "../../remote-site.ts";

/** Whether the node can run pods, in the words of the VirtualNode's Ready condition. */
export interface Readiness {
  readonly status: "True" | "False" | "Unknown";
  readonly reason: "ProviderReady" | "ProviderUnreachable" | "ContractMissing" | "ContractNotActive";
  readonly message: string;
  /** What an event says, where the message is another one each time: events that say the same are counted, and are one line to read. */
  readonly event?: string;
}

export interface Judgement {
  /** Absent while nothing can be said: a provider that has not been asked yet is neither there nor away. */
  readonly readiness?: Readiness;
  /** When it may become another by time alone: milliseconds from now. */
  readonly againInMs?: number;
}

const READY: Readiness = { status: "True", reason: "ProviderReady", message: "the provider answers" };

/** For so long a contract that was superseded stands for the one that follows. */
const FOLLOWER_MS = 60_000;

/** Says whether a node is ready. A provider counts as lost only when it has been silent for as long as the owner allows. */
export function judge(
  contract: Contract | undefined,
  reachability: Reachability | undefined,
  unreachableAfterMs: number,
  now: number,
): Judgement {
  const awaitedMs = followerAwaitedMs(contract, now);
  const obstacle = awaitedMs > 0 ? undefined : obstacleIn(contract);
  if (obstacle !== undefined) return { readiness: obstacle };
  const { againInMs, ...judgement } = judgeProvider(reachability, unreachableAfterMs, now);
  const soonest = Math.min(againInMs ?? Number.POSITIVE_INFINITY, awaitedMs > 0 ? awaitedMs : Number.POSITIVE_INFINITY);
  return { ...judgement, ...(Number.isFinite(soonest) && { againInMs: soonest }) };
}

function judgeProvider(reachability: Reachability | undefined, unreachableAfterMs: number, now: number): Judgement {
  if (reachability === undefined) return { readiness: unreachable("the provider's Site is not known here") };
  if (reachability.reachable) return { readiness: READY };
  // From the first question in vain: that it was silent before, nobody has seen.
  const left = reachability.since + unreachableAfterMs - now;
  const heardBefore = reachability.lastHeard !== undefined;
  if (left > 0) return { ...(heardBefore && { readiness: READY }), againInMs: left };
  const event = `the provider does not answer (${reachability.reason}); the condition Ready says since when`;
  return { readiness: { ...unreachable(silence(reachability)), event } };
}

/** The provider may say that a contract is superseded before this site knows by what. It takes pods by either name. */
function followerAwaitedMs(contract: Contract | undefined, now: number): number {
  const ended = endedIn(contract);
  if (ended?.reason !== "Superseded") return 0;
  return Date.parse(ended.lastTransitionTime) + FOLLOWER_MS - now;
}

function obstacleIn(contract: Contract | undefined): Readiness | undefined {
  if (contract === undefined)
    return { status: "False", reason: "ContractMissing", message: "there is no contract for this node" };
  const { name } = contract.metadata;
  const ended = endedIn(contract);
  if (ended !== undefined) return notActive(name, `has ended: ${ended.message || ended.reason}`);
  const begun = contract.status?.phase !== undefined && contract.status.phase !== "Proposed";
  return begun ? undefined : notActive(name, "is not in force yet");
}

function endedIn(contract: Contract | undefined) {
  return contract?.status?.conditions?.find(({ type, status }) => type === "Ended" && status === "True");
}

function silence({ lastHeard, message }: Reachability): string {
  const since = lastHeard === undefined ? "" : ` since ${new Date(lastHeard).toISOString()}`;
  return `the provider has not answered${since}: ${message}`;
}

function notActive(contract: string | undefined, why: string): Readiness {
  const message = `contract ${contract} ${why}`;
  return { status: "False", reason: "ContractNotActive", message, event: `its contract ${why}` };
}

function unreachable(message: string): Readiness {
  return { status: "Unknown", reason: "ProviderUnreachable", message };
}

/** Whether both say the same. */
export function sameReadiness(a: Readiness | undefined, b: Readiness | undefined): boolean {
  return a?.status === b?.status && a?.reason === b?.reason && a?.message === b?.message;
}
