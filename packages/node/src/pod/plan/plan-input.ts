import type { Pod } from "@fjord/kube";
import type { ObservedPod } from "../observed-pod.ts";
import type { RestartTiming } from "./restart-delay.ts";

/** Why a pod must stop before its containers have ended by themselves. */
export interface PodEnd {
  /** "gone": the API no longer has it. */
  readonly cause: "deleted" | "gone" | "deadline" | "evicted" | "refused";
  /** When it began, and how long containers have from then on. */
  readonly since: number;
  readonly graceSeconds: number;
  /** For the pod's status; absent for deletion. */
  readonly reason?: string;
  readonly message?: string;
}

/** A running container that has to be replaced. */
export interface Unwell {
  /** For the Killing event. */
  readonly message: string;
  readonly graceSeconds?: number;
}

/** Everything that decides what to do about a pod now. */
export interface PlanInput {
  readonly pod: Pod;
  readonly observed: ObservedPod;
  readonly now: number;
  readonly end?: PodEnd;
  /** Names of containers that are being started at the moment. */
  readonly starting: ReadonlySet<string>;
  /** Ids of containers that are being stopped, with the time at which they are killed. */
  readonly stopping: ReadonlyMap<string, number>;
  /** Ids of running containers that have passed their startup probe and their hook. */
  readonly started: ReadonlySet<string>;
  readonly unwell: ReadonlyMap<string, Unwell>;
  /** When to try again what could not be started, by name of container. */
  readonly retryAt: ReadonlyMap<string, number>;
  /** While a sandbox is being made or taken down. */
  readonly sandboxBusy: boolean;
  readonly sandboxRetryAt?: number;
  /** Until when a pod that cannot be honoured is not begun; its end does not wait for that. */
  readonly heldUntil?: number;
  readonly timing: RestartTiming;
}
