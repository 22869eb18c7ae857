import type { Contract } from "@fjord/api";
import { describeError } from "@fjord/base";
import { isForbidden, type KubeClient } from "@fjord/kube";
import { drainFacts } from "./drain-facts.ts";
import { drainProgress } from "./drain-progress.ts";

/** How far the drain of a contract is. */
export interface Drain {
  readonly contract: string;
  readonly done: boolean;
  /** Which pods are left, and what holds them up. */
  readonly progress: string;
}

/** Of all contracts in force that either side wants empty. */
export async function drainsOf(
  client: KubeClient,
  contracts: readonly Contract[],
  now: number,
  signal: AbortSignal,
): Promise<Drain[]> {
  const names = contracts.filter(isDraining).map(({ metadata }) => metadata.name ?? "");
  return await Promise.all(names.map((name) => drainOf(client, name, now, signal)));
}

export function isDraining({ spec, status }: Contract): boolean {
  return status?.phase !== "Ended" && (spec.standing === "Drained" || status?.peerStanding === "Drained");
}

async function drainOf(client: KubeClient, contract: string, now: number, signal: AbortSignal): Promise<Drain> {
  try {
    const progress = drainProgress(await drainFacts(client, contract, now, signal));
    if (progress.done) return { contract, done: true, progress: "no pod is left" };
    return { contract, done: false, progress: progress.progress.replace(`${contract}: `, "") };
  } catch (error) {
    signal.throwIfAborted();
    const reason = isForbidden(error) ? "you may not look at pods and nodes of the whole site" : describeError(error);
    return { contract, done: false, progress: `unknown: ${reason}` };
  }
}
