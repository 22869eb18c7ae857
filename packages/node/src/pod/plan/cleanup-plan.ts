import { isAlive } from "../observed-pod.ts";
import type { PlanInput } from "./plan-input.ts";
import type { PodAction, PodPlan } from "./pod-plan.ts";

/** How many containers of one name are kept: the present one, and the one before for `kubectl logs --previous`. */
const KEPT = 2;

/** Removes dead containers that nobody asks for any more, and old sandboxes once they are empty. */
export function planCleanup(input: PlanInput): Pick<PodPlan, "actions" | "wakeAt"> {
  const { now, sandboxBusy, sandboxRetryAt = 0 } = input;
  const sandboxes = oldSandboxes(input);
  if (sandboxes.length === 0 || sandboxBusy) return { actions: deadContainers(input) };
  if (sandboxRetryAt > now) return { actions: deadContainers(input), wakeAt: sandboxRetryAt };
  return { actions: [...deadContainers(input), ...sandboxes] };
}

function deadContainers({ observed, stopping }: PlanInput): PodAction[] {
  const actions: PodAction[] = [];
  for (const containers of observed.containers.values()) {
    for (const container of containers.slice(KEPT)) {
      if (!isAlive(container) && !stopping.has(container.id)) actions.push({ do: "remove", container });
    }
  }
  return actions;
}

function oldSandboxes({ observed }: PlanInput): PodAction[] {
  const actions: PodAction[] = [];
  for (const sandbox of observed.sandboxes.slice(1)) {
    if (sandbox.state === "ready") actions.push({ do: "stopSandbox", id: sandbox.id });
    else if (sandbox.containers.length === 0) actions.push({ do: "removeSandbox", id: sandbox.id });
  }
  return actions;
}
