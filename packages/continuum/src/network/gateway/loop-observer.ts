import type { DeniedPackets } from "../fabric/denied-packets.ts";
import type { SeenReport } from "./link-report.ts";

/** Hears what a loop does. */
export interface LoopObserver {
  /** Whether the node's network is what it shall be, also where nothing is known that it shall be. */
  brought(isApplied: boolean): void;
  /** So many things were changed by others, and were put back. */
  drifted(count: number): void;
  /** So many packets were dropped in all. */
  denied(packets: DeniedPackets): void;
  linked(links: readonly SeenReport[]): void;
  /** Lanes that the node carries. */
  carried(lanes: readonly number[]): void;
  keyMade(at: number | undefined): void;
}
