import { defineError } from "@fjord/base";

/** The kubelet API answers it with 404. */
export class GuestMissing extends defineError(
  "OFFLOAD_GUEST_MISSING",
  "pod {pod} has no guest behind {node} yet",
  "The pod is not on this virtual node, or the provider has not made it yet: `kubectl describe pod` tells how far it is.",
) {
  readonly status = 404;
}

/** Why a Node cannot be the virtual one that was asked for. */
export const NodeTaken = defineError(
  "OFFLOAD_NODE_NAME_TAKEN",
  "cannot make virtual node {name}: there is a Node of that name that is not Fjord's",
  "Give the peering's virtual node another name, or delete that Node.",
);
