import type { Pod } from "@fjord/kube";
import type { ObservedPod } from "../observed-pod.ts";
import type { PodEnd } from "../plan/plan-input.ts";
import type { Waiting } from "../plan/pod-plan.ts";
import type { Container } from "../pod-containers.ts";
import type { NewCondition } from "./pod-conditions.ts";

type Requirements = NonNullable<Container["resources"]>;

/** Everything that a pod's status is made of. */
export interface StatusInput {
  /** With the status that was last reported. */
  readonly pod: Pod;
  readonly observed: ObservedPod;
  readonly now: number;
  /** Why containers wait, by name. */
  readonly waiting: ReadonlyMap<string, Waiting>;
  /** Ids of containers that run; one whose postStart hook is under way does not count yet. */
  readonly running: ReadonlySet<string>;
  /** Ids of running containers that have started, and that are ready for requests. */
  readonly started: ReadonlySet<string>;
  readonly ready: ReadonlySet<string>;
  /** Last words of ended containers, by id. */
  readonly messages: ReadonlyMap<string, string>;
  /** What a container was granted, and has. */
  readonly resources: (name: string) => { granted: Requirements; given: Requirements };
  /** Beside those that every pod has. */
  readonly conditions: readonly NewCondition[];
  readonly end?: PodEnd;
  /** Nothing of the pod runs, and nothing will. */
  readonly ended: boolean;
  readonly hostIPs: readonly string[];
  /** `containerd`, for ids as in `containerd://4f2a`. */
  readonly runtimeName: string;
}
