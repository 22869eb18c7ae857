import { type KubeClient, Pod, requestFor } from "@fjord/kube";
import { unlessGone } from "../loop.ts";
import { isPodFinished, podCondition, timestamp } from "../workload/pod-state.ts";

export interface Disruption {
  readonly reason: string;
  readonly message: string;
  /** The pod runs no more, whatever its status says. */
  readonly failed?: boolean;
}

/** Says in a pod's status why it is about to be deleted, so that a Job need not count it as its own failure. */
export async function markDisrupted(
  client: KubeClient,
  pod: Pod,
  { reason, message, failed = false }: Disruption,
  now: number,
  signal: AbortSignal,
): Promise<void> {
  if (podCondition(pod, "DisruptionTarget")?.status === "True" && !failed) return;
  const condition = { type: "DisruptionTarget", status: "True", reason, message, lastTransitionTime: timestamp(now) };
  const phase = failed && !isPodFinished(pod) ? { phase: "Failed" } : {};
  const patch = { metadata: { uid: pod.metadata.uid }, status: { ...phase, conditions: [condition] } };
  await unlessGone(client.patch(Pod, requestFor(pod), "strategic", patch, { subresource: "status", signal }));
}
