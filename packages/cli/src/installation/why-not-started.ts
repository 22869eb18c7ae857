import type { Pod } from "@fjord/kube";

/** What a container waits for while all is well. */
const ON_ITS_WAY = ["ContainerCreating", "PodInitializing"];

/** Why a pod's container does not run, or the pod has no node, in the cluster's own words; undefined while all is on its way. */
export function whyNotStarted(pods: readonly Pod[]): string | undefined {
  for (const { metadata, status } of pods.filter((pod) => pod.metadata.deletionTimestamp === undefined)) {
    const containers = [...(status?.initContainerStatuses ?? []), ...(status?.containerStatuses ?? [])];
    const stuck = containers.find(({ state }) => isTrouble(state?.waiting));
    const waiting = stuck?.state?.waiting;
    const homeless = status?.conditions?.find(({ type, status: is }) => type === "PodScheduled" && is === "False");
    const { reason, message } = waiting ?? homeless ?? {};
    const said = lastWords(stuck?.lastState?.terminated?.message);
    if (said !== undefined) return `pod ${metadata.name}: ${reason}: it ended with "${said}"`;
    if (reason !== undefined) return `pod ${metadata.name}: ${[reason, message].filter((text) => text).join(": ")}`;
  }
  return undefined;
}

/** The error that a program ended with, or the last line that it wrote. */
function lastWords(log = ""): string | undefined {
  const lines = log.split("\n").filter((line) => line.trim() !== "");
  return (lines.findLast((line) => line.startsWith("error: ")) ?? lines.at(-1))?.replace("error: ", "");
}

function isTrouble(waiting: { readonly reason?: string } | undefined): boolean {
  return waiting?.reason !== undefined && !ON_ITS_WAY.includes(waiting.reason);
}
