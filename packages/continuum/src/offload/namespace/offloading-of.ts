import { OFFLOADING_NAME, Offloading } from "@fjord/api";
import { ifNotFound, type KubeClient } from "@fjord/kube";

/** What its owner says about a namespace's pods; undefined where the namespace is not offloaded. */
export async function offloadingOf(
  client: KubeClient,
  namespace: string,
  signal: AbortSignal,
): Promise<Offloading | undefined> {
  return await client.get(Offloading, { name: OFFLOADING_NAME, namespace }, { signal }).catch(ifNotFound);
}
