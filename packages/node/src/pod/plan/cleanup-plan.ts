import { isAlive } from "../observed-pod.ts";
import type { PlanInput } from "./plan-input.ts";
import type { PodAction } from "./pod-plan.ts";

/** How many containers of one name are kept: the present one, and the one before for `kubectl logs --previous`. */
const KEPT = 2;

/** Removes dead containers that nobody asks for any more, and old sandboxes once they are empty. */
export function planCleanup({ observed, stopping }: PlanInput): PodAction[] {
  const actions: PodAction[] = [];
  for (const containers of observed.containers.values()) {
    for (const container of containers.slice(KEPT)) {
      if (!isAlive(container) && !stopping.has(container.id)) actions.push({ do: "remove", container });
    }
  }
  for (const sandbox of observed.sandboxes.slice(1)) {
    if (sandbox.state === "ready") actions.push({ do: "stopSandbox", id: sandbox.id });
    else if (sandbox.containers.length === 0) actions.push({ do: "removeSandbox", id: sandbox.id });
  }
  return actions;
}
