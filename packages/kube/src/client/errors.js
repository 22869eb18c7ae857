import { defineError } from "@fjord/base";
export const InvalidAddress = defineError("KUBE_INVALID_ADDRESS", "cannot address {target}: {reason}", "Give a name that is not empty and holds no slash, and a namespace exactly where the kind is namespaced.");
