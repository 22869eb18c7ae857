import { type CustomResourceDefinition, customResourceDefinition } from "./crd.ts";
import { kinds } from "./kinds/index.ts";

export type { CustomResourceDefinition } from "./crd.ts";

/** What an agent applies so that its API server knows Fjord's kinds: the same objects as in the committed manifests. */
export function customResourceDefinitions(): CustomResourceDefinition[] {
  return kinds.map(customResourceDefinition);
}
