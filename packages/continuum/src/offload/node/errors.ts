import { defineError } from "@fjord/base";

/** The kubelet API answers it with 404. */
export class GuestMissing extends defineError(
  "OFFLOAD_GUEST_MISSING",
  "pod {pod} has no guest behind {node} yet",
  "The pod is not on this virtual node, or the provider has not made it yet: `kubectl describe pod` tells how far it is.",
) {
  readonly status = 404;
}

/** What the provider's API said no to, with its status. */
export class GuestRefused extends defineError(
  "OFFLOAD_GUEST_REFUSED",
  "{reason}",
  "The provider's cluster gave this answer about the pod there: what it says is what to look into.",
) {
  readonly status: number;

  constructor(status: number, reason: string, options?: ErrorOptions) {
    super({ reason }, options);
    this.status = status;
  }
}

/** Nobody answers at the provider. */
export class GuestAway extends defineError(
  "OFFLOAD_GUEST_AWAY",
  "the site behind {node} cannot be asked: {reason}",
  "`kubectl describe node` tells since when the provider is silent. The pod there goes on.",
) {
  readonly status = 503;
}

/** Why a Node cannot be the virtual one that was asked for. */
export const NodeTaken = defineError(
  "OFFLOAD_NODE_NAME_TAKEN",
  "cannot make virtual node {name}: there is a Node of that name that is not Fjord's",
  "Give the peering's virtual node another name, or delete that Node.",
);
