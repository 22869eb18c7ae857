import type { Pod } from "@fjord/kube";
import { inUnits, parseQuantity, qosClass } from "@fjord/kube";

/** Pods without which a node or a cluster is none: `system-node-critical`. */
const NODE_CRITICAL_PRIORITY = 2_000_001_000;
const PROTECTED = -997;

/** The more of the machine's memory a container has asked for, the later the kernel kills it. */
export function oomScoreAdjust(
  pod: Pod,
  container: { resources?: { requests?: Readonly<Record<string, string | number>> } },
  memoryCapacity: number,
): number {
  const quality = qosClass(pod);
  if ((pod.spec?.priority ?? 0) >= NODE_CRITICAL_PRIORITY || quality === "Guaranteed") return PROTECTED;
  if (quality === "BestEffort") return 1000;
  const asked = container.resources?.requests?.memory;
  const request = asked === undefined ? 0 : inUnits(parseQuantity(asked));
  const score = 1000 - Math.floor((1000 * request) / Math.max(memoryCapacity, 1));
  // Between the protected ones and those that ask for nothing.
  return Math.min(Math.max(score, 1000 + PROTECTED), 999);
}
