import { isNotFound, type KubeClient, Pod } from "@fjord/kube";
import type { OffloadedPod } from "../offloaded-pods.ts";

/** Asks pods at other sites to end, so that whoever owns them makes new ones here. */
export async function bringHome(client: KubeClient, pods: readonly OffloadedPod[], signal: AbortSignal): Promise<void> {
  const running = pods.filter(({ pod }) => pod.metadata.deletionTimestamp === undefined);
  for (const { pod } of running) {
    const { name = "", namespace = "", uid = "" } = pod.metadata;
    await client.delete(Pod, { name, namespace }, { preconditions: { uid }, signal }).catch((error: unknown) => {
      if (!isNotFound(error)) throw error;
    });
  }
}
