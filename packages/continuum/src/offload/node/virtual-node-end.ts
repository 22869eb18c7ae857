import { FORCE_REMOVE_ANNOTATION, type VirtualNode } from "@fjord/api";
import { ifNotFound, type KubeClient, Lease, Node } from "@fjord/kube";
import { LEASE_NAMESPACE } from "@fjord/node/registration";
import { emptyNode } from "./empty-node.ts";
import { CORDONED_ANNOTATION } from "./node-changes.ts";

/** Whether nobody is to wait for the provider. */
export function isForced({ metadata }: VirtualNode): boolean {
  return metadata.annotations?.[FORCE_REMOVE_ANNOTATION] === "true";
}

/** Lets no new pod onto the node of a VirtualNode that is to go, and ends those that are there. True once none is left. */
export async function endPods(client: KubeClient, object: VirtualNode, signal: AbortSignal): Promise<boolean> {
  const name = object.metadata.name ?? "";
  const patch = { metadata: { annotations: { [CORDONED_ANNOTATION]: "Deleting" } }, spec: { unschedulable: true } };
  await client.patch(Node, { name }, "merge", patch, { signal }).catch(ifNotFound);
  return emptyNode(client, name, { force: isForced(object) }, signal);
}

/** Removes the Node and its lease. */
export async function removeNode(client: KubeClient, node: Node, signal: AbortSignal): Promise<void> {
  const { name = "", uid = "" } = node.metadata;
  await client.delete(Node, { name }, { preconditions: { uid }, signal }).catch(ifNotFound);
  await client.delete(Lease, { name, namespace: LEASE_NAMESPACE }, { signal }).catch(ifNotFound);
}
