import { type Contract, newObject, type Peering, VirtualNode } from "@fjord/api";

export function virtualNodeName({ spec, metadata }: Peering): string {
  return spec.virtualNode.name ?? metadata.name ?? "";
}

/** The VirtualNode that brings a Peering's contract to life. */
export function forgeVirtualNode(peering: Peering, contract: Contract): VirtualNode {
  const { name = "", uid = "" } = peering.metadata;
  const { name: _, ...template } = peering.spec.virtualNode;
  const owner = { apiVersion: peering.apiVersion, kind: peering.kind, name, uid, controller: true };
  return newObject(VirtualNode, {
    metadata: { name: virtualNodeName(peering), ownerReferences: [owner] },
    spec: { ...template, contract: contract.spec.terms.id },
  });
}

/** Whether the VirtualNode was made for this very Peering. */
export function belongsTo(node: VirtualNode, peering: Peering): boolean {
  return node.metadata.ownerReferences?.some(({ uid }) => uid === peering.metadata.uid) ?? false;
}
