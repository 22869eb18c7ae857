import { defineError } from "@fjord/base";

export const KindNotServed = defineError(
  "KUBE_KIND_NOT_SERVED",
  "{server} serves no kind {wanted}{hint}",
  "Check the spelling and the group, and that the CustomResourceDefinition or the aggregated API behind the kind is installed and answers.",
);
