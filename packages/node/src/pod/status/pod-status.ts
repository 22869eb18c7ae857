import type { Pod } from "@fjord/kube";
import { podLimits, podRequests, qosClass, quantitiesOf } from "@fjord/kube";
import { unreadableQuantities } from "../../resources/pod-quantities.ts";
import { type ContainerStatus, containersOf, type PodStatus } from "../pod-containers.ts";
import { timeText } from "./container-state.ts";
import { containerStatus } from "./container-status.ts";
import { type NewCondition, podConditions } from "./pod-conditions.ts";
import { podPhase } from "./pod-phase.ts";
import type { StatusInput } from "./status-input.ts";

/** The whole status of a pod as the node sees it. Conditions of others are in it as they were. */
export function podStatus(input: StatusInput): PodStatus {
  const { pod, end, hostIPs } = input;
  const statuses = new Map<string, ContainerStatus>();
  const byRole = { init: [], sidecar: [], main: [], ephemeral: [] } as Record<string, ContainerStatus[]>;
  for (const container of containersOf(pod)) {
    const status = containerStatus(container, input);
    statuses.set(container.name, status);
    byRole[container.role === "sidecar" ? "init" : container.role]?.push(status);
  }
  const phase = podPhase(input, statuses);
  // Of a pod that never began there is nothing to tell but why.
  const isUntouched = end?.cause === "refused" && input.observed.sandbox === undefined;
  const { init = [], main = [], ephemeral = [] } = byRole;
  const reason = end?.reason ?? pod.status?.reason;
  const message = end?.reason === undefined ? pod.status?.message : end.message;
  const isReadable = unreadableQuantities(pod).length === 0;
  return {
    ...(pod.metadata.generation !== undefined && { observedGeneration: pod.metadata.generation }),
    phase,
    conditions: podConditions(input, phase, statuses, [...input.conditions, ...disruption(end)]),
    ...(reason && phase === "Failed" && { reason, message: message ?? "" }),
    ...addresses(hostIPs, podAddresses(input)),
    startTime: pod.status?.startTime ?? timeText(input.now),
    ...(isUntouched
      ? reportedStatuses(pod)
      : {
          ...(init.length > 0 && { initContainerStatuses: init }),
          containerStatuses: main,
          ...(ephemeral.length > 0 && { ephemeralContainerStatuses: ephemeral }),
        }),
    // Of a pod that was refused for having no amounts there, nothing can be said of them.
    ...(isReadable && wholeResources(pod)),
    qosClass: pod.status?.qosClass ?? (isReadable ? qosClass(pod) : "BestEffort"),
  };
}

function reportedStatuses({ status }: Pod): PodStatus {
  const { initContainerStatuses, containerStatuses, ephemeralContainerStatuses } = status ?? {};
  return {
    ...(initContainerStatuses && { initContainerStatuses }),
    ...(containerStatuses && { containerStatuses }),
    ...(ephemeralContainerStatuses && { ephemeralContainerStatuses }),
  };
}

/** What was granted to the pod as a whole, by itself or through its containers. */
function wholeResources(pod: Pod): Pick<PodStatus, "allocatedResources" | "resources"> {
  const requests = quantitiesOf(podRequests(pod));
  const limits = quantitiesOf(podLimits(pod));
  const hasRequests = Object.keys(requests).length > 0;
  const hasLimits = Object.keys(limits).length > 0;
  if (!hasRequests && !hasLimits) return {};
  return {
    ...(hasRequests && { allocatedResources: requests }),
    resources: { ...(hasRequests && { requests }), ...(hasLimits && { limits }) },
  };
}

function disruption(end: StatusInput["end"]): NewCondition[] {
  if (end?.cause !== "evicted") return [];
  const message = end.message ?? "";
  return [{ type: "DisruptionTarget", status: "True", reason: "TerminationByKubelet", message }];
}

/** The pod's own addresses; those of a pod that has ended are remembered. */
export function podAddresses({ pod, observed, hostIPs, ended }: StatusInput): readonly string[] {
  const { sandbox } = observed;
  if (sandbox?.state === "ready") return pod.spec?.hostNetwork === true ? hostIPs : sandbox.addresses;
  if (!ended && sandbox === undefined) return [];
  return (pod.status?.podIPs ?? []).flatMap(({ ip }) => (ip === undefined ? [] : [ip]));
}

function addresses(hostIPs: readonly string[], podIPs: readonly string[]): PodStatus {
  return {
    ...(hostIPs[0] !== undefined && { hostIP: hostIPs[0], hostIPs: hostIPs.map((ip) => ({ ip })) }),
    ...(podIPs[0] !== undefined && { podIP: podIPs[0], podIPs: podIPs.map((ip) => ({ ip })) }),
  };
}
