import type { RuntimeContainer } from "../../runtime/index.ts";
import { aliveContainers } from "../observed-pod.ts";
import { containersOf } from "../pod-containers.ts";
import type { PlanInput, PodEnd } from "./plan-input.ts";
import type { PodAction, PodPlan } from "./pod-plan.ts";

/** Nothing is given less, once its turn has come, unless no time at all is wanted. */
const LEAST_GRACE_SECONDS = 2;

/** Stops everything: main containers together, then sidecars, the last first, all within the time that the pod has. */
export function planEnd(input: PlanInput, end: Pick<PodEnd, "since" | "graceSeconds">): PodPlan {
  const { observed, now, starting, stopping, sandboxBusy, sandboxRetryAt = 0 } = input;
  const alive = aliveContainers(observed);
  const deadline = end.since + end.graceSeconds * 1000;
  const remaining = Math.ceil((deadline - now) / 1000);
  const graceSeconds =
    end.graceSeconds === 0 ? 0 : Math.max(remaining, Math.min(LEAST_GRACE_SECONDS, end.graceSeconds));
  const killAt = now + graceSeconds * 1000;
  const waiting = new Map();

  if (alive.length > 0) {
    const due = remaining > 0 ? turn(input, alive) : alive;
    const actions = due
      .filter(({ id }) => (stopping.get(id) ?? Number.POSITIVE_INFINITY) > killAt + 1000)
      .map((container): PodAction => {
        return { do: "stop", container, graceSeconds, message: `Stopping container ${container.name}` };
      });
    return { actions, waiting, ended: false, ...(due.length < alive.length && { wakeAt: deadline }) };
  }
  if (starting.size > 0 || sandboxBusy) return { actions: [], waiting, ended: false };
  if (sandboxRetryAt > now) return { actions: [], waiting, ended: false, wakeAt: sandboxRetryAt };
  const sandboxes = observed.sandboxes.filter(({ state }) => state === "ready");
  const actions = sandboxes.map(({ id }): PodAction => ({ do: "stopSandbox", id }));
  return { actions, waiting, ended: actions.length === 0 };
}

/** Those whose turn it is: sidecars serve the others to the end, and those before them in the list. */
function turn({ pod, starting }: PlanInput, alive: RuntimeContainer[]): RuntimeContainer[] {
  const sidecars = containersOf(pod)
    .filter(({ role }) => role === "sidecar")
    .map(({ name }) => name);
  const others = alive.filter(({ name }) => !sidecars.includes(name));
  if (others.length > 0 || starting.size > 0) return others;
  const last = sidecars.findLast((name) => alive.some((container) => container.name === name));
  return alive.filter(({ name }) => name === last);
}
