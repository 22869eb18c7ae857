import { isNotFound, type KubeClient, Node, Pod } from "@fjord/kube";

/** Lets no new pod onto a node that is to go, and asks its pods to end. True once none is left. */
export async function emptyNode(client: KubeClient, name: string, signal: AbortSignal): Promise<boolean> {
  try {
    await client.patch(Node, { name }, "merge", { spec: { unschedulable: true } }, { signal });
  } catch (error) {
    if (!isNotFound(error)) throw error;
    return true;
  }
  const { items } = await client.list(Pod, { fieldSelector: `spec.nodeName=${name}`, omitManagedFields: true, signal });
  for (const { metadata } of items) {
    if (metadata.deletionTimestamp !== undefined) continue;
    const key = { name: metadata.name ?? "", namespace: metadata.namespace ?? "" };
    await client.delete(Pod, key, { preconditions: { uid: metadata.uid ?? "" }, signal }).catch((error: unknown) => {
      if (!isNotFound(error)) throw error;
    });
  }
  return items.length === 0;
}
