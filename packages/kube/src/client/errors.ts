import { defineError } from "@fjord/base";

export const EndlessList = defineError(
  "KUBE_ENDLESS_LIST",
  "cannot list all {kind} objects: {reason}",
  "The server's pages lead nowhere: whatever serves the kind, an aggregated API perhaps, does not page as Kubernetes does. List without a limit.",
);

export const InvalidAddress = defineError(
  "KUBE_INVALID_ADDRESS",
  "cannot address {target}: {reason}",
  "Give a name that is not empty and holds no slash, and a namespace exactly where the kind is namespaced.",
);
