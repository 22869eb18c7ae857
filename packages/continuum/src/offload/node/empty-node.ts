import { isConflict, isNotFound, type KubeClient, Pod } from "@fjord/kube";

export interface Emptying {
  /** They are gone at once, whatever runs elsewhere. */
  readonly force: boolean;
  /** Pods that are asked to end too, and not waited for. */
  readonly without?: (pod: Pod) => boolean;
}

/** Asks the pods of a node to end. True once none is left. */
export async function emptyNode(
  client: KubeClient,
  node: string,
  { force, without = () => false }: Emptying,
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
  return force || items.every(without);
}
