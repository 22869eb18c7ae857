import { compareResourceVersions, type Pod } from "@fjord/kube";
import type { Verdict } from "./shadow-status.ts";

/** What a process knows of a guest beyond what the caches show. All of it can be found out again. */
export interface GuestMemory {
  /** Uid of the shadow pod that the rest is about. */
  readonly shadowUid: string;
  /** A pod that was made and that the watch has not shown yet. */
  made?: { readonly uid: string; readonly resourceVersion: string };
  /** The pod that was last seen, and how it ended if it did. */
  podUid?: string;
  ended?: "Succeeded" | "Failed";
  lost?: string;
  /** Since when its contract is seen drained. */
  drainedSince?: number | undefined;
  verdict?: Verdict;
  /** How often a pod was made again in all, as far as this process knows. */
  recreations?: number;
  /** When the pod was last made again, and how often in a row. */
  recreatedAt?: number;
  recreatedTimes?: number;
  /** Where the shadow pod's status was last written. */
  written?: string;
  /** Since when a status waits that nobody waits for. */
  waitsSince?: number | undefined;
}

/** Whether a watch stands behind a revision: what it does not show then is not there. */
export function hasPassed(stand: string | undefined, resourceVersion: string): boolean {
  const order = compareResourceVersions(stand ?? "", resourceVersion);
  return order === undefined || order > 0;
}

export function noteMade(memory: GuestMemory, { metadata }: Pod): void {
  memory.made = { uid: metadata.uid ?? "", resourceVersion: metadata.resourceVersion ?? "" };
  memory.podUid = metadata.uid ?? "";
}

const LONGEST_WAIT_MS = 300_000;

/** How long to wait before a guest that keeps getting lost is made again. The first time is at once. */
export function recreationDelay({ recreatedAt = 0, recreatedTimes = 0 }: GuestMemory, now: number): number {
  if (recreatedTimes === 0) return 0;
  const wait = Math.min(LONGEST_WAIT_MS, 1_000 * 2 ** Math.min(recreatedTimes - 1, 16));
  return Math.max(0, recreatedAt + wait - now);
}

/** Counts a recreation; after a quiet time the count begins anew. */
export function noteRecreation(memory: GuestMemory, before: number, now: number): void {
  memory.recreations = Math.max(before, memory.recreations ?? 0) + 1;
  const isQuiet = now - (memory.recreatedAt ?? 0) > 2 * LONGEST_WAIT_MS;
  memory.recreatedTimes = isQuiet ? 1 : (memory.recreatedTimes ?? 0) + 1;
  memory.recreatedAt = now;
}
