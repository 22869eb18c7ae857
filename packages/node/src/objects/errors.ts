import { defineError } from "@fjord/base";

export const ObjectUnknown = defineError(
  "NODE_OBJECT_UNKNOWN",
  "cannot read {kind} {key}: the API does not give it and the local store does not have it: {reason}",
  "Look at the reason. A node may read only what pods bound to it refer to; while the API is away, only what was read before.",
);

export const ListUnknown = defineError(
  "NODE_LIST_UNKNOWN",
  "cannot list objects of kind {kind}: the API has not given them yet and the local store does not have them: {reason}",
  "Look at the reason: most often the API cannot be reached, or the node's account may not list this kind.",
);

export const TokenUnavailable = defineError(
  "NODE_TOKEN_UNAVAILABLE",
  "cannot get a token of service account {account} for pod {pod}: {reason}",
  "Look at the reason: the API cannot be reached, the service account does not exist, or the pod has been deleted.",
);
