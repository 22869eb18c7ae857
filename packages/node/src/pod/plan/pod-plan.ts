import type { RuntimeContainer } from "../../runtime/index.ts";
import type { PodContainer } from "../pod-containers.ts";
import { planEnd } from "./end-plan.ts";
import { outcomeOf } from "./outcome.ts";
import type { PlanInput } from "./plan-input.ts";
import { planRun } from "./run-plan.ts";

export type PodAction =
  | { readonly do: "runSandbox"; readonly attempt: number }
  | { readonly do: "stopSandbox"; readonly id: string }
  | { readonly do: "removeSandbox"; readonly id: string }
  | {
      readonly do: "start";
      readonly container: PodContainer;
      readonly attempt: number;
      /** For the container's annotation of that name. */
      readonly restartDelay: number;
    }
  | {
      readonly do: "stop";
      readonly container: RuntimeContainer;
      readonly graceSeconds: number;
      /** For the Killing event. */
      readonly message: string;
    }
  | { readonly do: "remove"; readonly container: RuntimeContainer };

export interface Waiting {
  readonly reason: string;
  readonly message: string;
}

export interface PodPlan {
  readonly actions: readonly PodAction[];
  /** When to plan again even if nothing has happened by then. */
  readonly wakeAt?: number;
  /** Why containers wait, by name, where they wait for a time to pass. */
  readonly waiting: ReadonlyMap<string, Waiting>;
  /** Nothing of the pod runs, and nothing will. */
  readonly ended: boolean;
}

/** What to do now for the pod to become what its spec says. Carried out and planned again, it comes to rest. */
export function planPod(input: PlanInput): PodPlan {
  if (input.end !== undefined) return planEnd(input, input.end);
  const outcome = outcomeOf(input);
  if (outcome === undefined) return planRun(input);
  const graceSeconds = input.pod.spec?.terminationGracePeriodSeconds ?? 30;
  return planEnd(input, { since: outcome.at, graceSeconds });
}
