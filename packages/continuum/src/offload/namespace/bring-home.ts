import { isConflict, isNotFound, type KubeClient, Pod } from "@fjord/kube";
import type { OffloadedPod } from "../../offloaded-pods.ts";

/** Asks pods at other sites to end, so that whoever owns them makes new ones here. */
export async function bringHome(client: KubeClient, pods: readonly OffloadedPod[], signal: AbortSignal): Promise<void> {
  for (const { pod } of pods) if (pod.metadata.deletionTimestamp === undefined) await deletePod(client, pod, signal);
}

/** Deletes this very pod, with the grace that it asks for. Another one of its name, as StatefulSets make, is left alone. */
export async function deletePod(client: KubeClient, { metadata }: Pod, signal: AbortSignal): Promise<void> {
  const { name = "", namespace = "", uid = "" } = metadata;
  await client.delete(Pod, { name, namespace }, { preconditions: { uid }, signal }).catch((error: unknown) => {
    if (!isNotFound(error) && !isConflict(error)) throw error;
  });
}
