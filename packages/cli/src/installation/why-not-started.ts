import type { Pod } from "@fjord/kube";

/** What a container waits for while all is well. */
const ON_ITS_WAY = ["ContainerCreating", "PodInitializing"];

/** Why a pod's container does not run, or the pod has no node, in the cluster's own words; undefined while all is on its way. */
export function whyNotStarted(pods: readonly Pod[]): string | undefined {
  for (const { metadata, status } of pods.filter((pod) => pod.metadata.deletionTimestamp === undefined)) {
    const containers = [...(status?.initContainerStatuses ?? []), ...(status?.containerStatuses ?? [])];
    const waiting = containers.map(({ state }) => state?.waiting).find(isTrouble);
    const homeless = status?.conditions?.find(({ type, status: is }) => type === "PodScheduled" && is === "False");
    const { reason, message } = waiting ?? homeless ?? {};
    if (reason !== undefined) return `pod ${metadata.name}: ${[reason, message].filter((text) => text).join(": ")}`;
  }
  return undefined;
}

function isTrouble(waiting: { readonly reason?: string } | undefined): boolean {
  return waiting?.reason !== undefined && !ON_ITS_WAY.includes(waiting.reason);
}
