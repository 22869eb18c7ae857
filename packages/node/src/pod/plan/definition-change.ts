import type { RuntimeContainer } from "../../runtime/index.ts";
import { annotations } from "../annotations.ts";
import type { ObservedPod } from "../observed-pod.ts";
import { containersOf, type PodContainer } from "../pod-containers.ts";
import type { PlanInput } from "./plan-input.ts";

/** How long it is not told that a container has ended to make way for the next. */
const PATIENCE_MS = 2_000;

/** Whether a container was made from another image than the pod now says. */
export function isOutdated(container: PodContainer, last: RuntimeContainer): boolean {
  const before = last.annotations[annotations.image];
  return container.role !== "init" && before !== undefined && before !== (container.spec.image ?? "");
}

/**
 * Until when nothing is told of a pod whose containers are being replaced because its definition has changed: as with the
 * kubelet, a replacement that takes its usual moment is no end of readiness. Zero where there is none.
 */
export function replacedUntil({ pod, observed }: Pick<PlanInput, "pod" | "observed">, isHeldUp: IsHeldUp): number {
  const ends = containersOf(pod).map((container) => {
    const last = lastBegun(observed, container.name);
    if (last?.state !== "exited" || !isOutdated(container, last) || isHeldUp(container.name)) return 0;
    return (last.finishedAt ?? 0) + PATIENCE_MS;
  });
  return Math.max(0, ...ends);
}

/** Whether the start of the next container has failed, or has to wait. */
type IsHeldUp = (container: string) => boolean;

function lastBegun(observed: ObservedPod, name: string): RuntimeContainer | undefined {
  return observed.containers.get(name)?.find(({ state }) => state !== "created");
}
