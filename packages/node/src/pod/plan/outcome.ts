import { newest } from "../observed-pod.ts";
import { containersOf } from "../pod-containers.ts";
import { lastEnd } from "./last-end.ts";
import type { PlanInput } from "./plan-input.ts";
import { restartsAfter } from "./restart-policy.ts";
import { isReplaced, wholeRestart } from "./whole-restart.ts";

/** How a pod ended by itself. */
export interface Outcome {
  readonly phase: "Succeeded" | "Failed";
  readonly at: number;
}

/** Undefined while there is something left to run. Sidecars and ephemeral containers keep no pod alive. */
export function outcomeOf({
  pod,
  observed,
  starting,
}: Pick<PlanInput, "pod" | "observed" | "starting">): Outcome | undefined {
  let at = 0;
  let phase: Outcome["phase"] = "Succeeded";
  const containers = containersOf(pod);
  const restart = wholeRestart(pod, observed);
  const isToCome = (name: string) => {
    const last = newest(observed, name);
    return starting.has(name) || (last !== undefined && isReplaced(last, restart));
  };
  for (const container of containers) {
    if (container.role !== "init" || isToCome(container.name)) continue;
    const end = lastEnd(pod, observed, container.name);
    if (end === undefined || end.exitCode === 0) continue;
    if (!restartsAfter(pod, container, end.exitCode)) return { phase: "Failed", at: end.at };
  }
  for (const container of containers) {
    if (container.role !== "main") continue;
    const end = isToCome(container.name) ? undefined : lastEnd(pod, observed, container.name);
    if (end === undefined || restartsAfter(pod, container, end.exitCode)) return undefined;
    if (end.exitCode !== 0) phase = "Failed";
    at = Math.max(at, end.at);
  }
  return { phase, at };
}
