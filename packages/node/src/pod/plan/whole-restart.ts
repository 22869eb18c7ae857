import type { Pod } from "@fjord/kube";
import type { RuntimeContainer } from "../../runtime/index.ts";
import type { ObservedPod } from "../observed-pod.ts";
import { containersOf } from "../pod-containers.ts";
import { ruleFor } from "./restart-policy.ts";

/** The end of a container that restarts its whole pod: everything from before it is replaced, in the same sandbox. */
export interface WholeRestart {
  readonly trigger: RuntimeContainer;
  readonly at: number;
}

/** The last one, also when it has been carried out by now. */
export function wholeRestart(pod: Pod, observed: ObservedPod): WholeRestart | undefined {
  let last: WholeRestart | undefined;
  for (const container of containersOf(pod)) {
    if (container.spec.restartPolicyRules === undefined) continue;
    for (const found of observed.containers.get(container.name) ?? []) {
      if (found.state !== "exited" || found.sandbox !== observed.sandbox?.id) continue;
      if (ruleFor(container, found.exitCode ?? 1)?.action !== "RestartAllContainers") continue;
      const at = found.finishedAt ?? found.createdAt;
      if (last === undefined || at > last.at) last = { trigger: found, at };
    }
  }
  return last;
}

/** Whether the container was made before the pod's restart, and so has to be followed by another. */
export function isReplaced({ createdAt }: RuntimeContainer, restart: WholeRestart | undefined): boolean {
  return restart !== undefined && createdAt <= restart.at;
}
