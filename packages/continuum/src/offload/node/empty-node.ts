import { isConflict, isNotFound, type KubeClient, Pod } from "@fjord/kube";

/** Asks the pods of a node to end; with `force` they are gone at once, whatever runs elsewhere. True once none is left. */
export async function emptyNode(
  client: KubeClient,
  node: string,
  { force }: { force: boolean },
  signal: AbortSignal,
): Promise<boolean> {
  const { items } = await client.list(Pod, { fieldSelector: `spec.nodeName=${node}`, omitManagedFields: true, signal });
  for (const { metadata } of items) {
    if (!force && metadata.deletionTimestamp !== undefined) continue;
    const key = { name: metadata.name ?? "", namespace: metadata.namespace ?? "" };
    const preconditions = { uid: metadata.uid ?? "" };
    const options = { preconditions, signal, ...(force && { gracePeriodSeconds: 0 }) };
    await client.delete(Pod, key, options).catch((error: unknown) => {
      // Another pod of that name is none of this node's.
      if (!isNotFound(error) && !isConflict(error)) throw error;
    });
  }
  return items.length === 0 || force;
}
