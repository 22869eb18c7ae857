import { FORCE_REMOVE_ANNOTATION, type VirtualNode } from "@fjord/api";
import { ifNotFound, type KubeClient, Lease, Node, type Pod } from "@fjord/kube";
import { LEASE_NAMESPACE } from "@fjord/node/registration";
import { emptyNode } from "./empty-node.ts";
import { comesAgain } from "./evictions.ts";
import { nodePatch } from "./node-changes.ts";

/** Whether nobody is to wait for the provider. */
export function isForced({ metadata }: VirtualNode): boolean {
  return metadata.annotations?.[FORCE_REMOVE_ANNOTATION] === "true";
}

/** Lets no new pod onto the node of a VirtualNode that is to go. */
export async function closeNode(client: KubeClient, node: Node, signal: AbortSignal): Promise<void> {
  const { name = "" } = node.metadata;
  const patch = nodePatch(node, { taints: [], cordon: "Deleting" });
  if (patch !== undefined) await client.patch(Node, { name }, "merge", patch, { signal }).catch(ifNotFound);
}

/** Ends the pods of a VirtualNode that is to go. True once none is left that is waited for, and without a Node once none is left at all. */
export async function endPods(
  client: KubeClient,
  object: VirtualNode,
  hasNode: boolean,
  signal: AbortSignal,
): Promise<boolean> {
  const without = (pod: Pod) => hasNode && isLate(pod, object);
  return emptyNode(client, object.metadata.name ?? "", { force: isForced(object), without }, signal);
}

/** Whether the pod is one of a DaemonSet that tolerates everything, and came since the end began: nothing was begun for it elsewhere. */
export function isLate(pod: Pod, { metadata }: VirtualNode): boolean {
  const [made = "", ending = ""] = [pod.metadata.creationTimestamp, metadata.deletionTimestamp];
  return comesAgain(pod) && Date.parse(made) > Date.parse(ending);
}

/** Removes the Node and its lease. */
export async function removeNode(client: KubeClient, node: Node, signal: AbortSignal): Promise<void> {
  const { name = "", uid = "" } = node.metadata;
  await client.delete(Node, { name }, { preconditions: { uid }, signal }).catch(ifNotFound);
  await client.delete(Lease, { name, namespace: LEASE_NAMESPACE }, { signal }).catch(ifNotFound);
}
