import { type BuiltInResource, builtInResources } from "../schema/built-in-resources.ts";
import type { Schemas } from "../schema/schema.ts";
import { clusterKinds } from "./cluster/index.ts";
import { coreKinds } from "./core/index.ts";
import { type KindDefinition, resourceType } from "./kind.ts";
import { type KindMeans, withDefaults } from "./kind-means.ts";
import type { ResourceType } from "./resource-type.ts";
import { workloadKinds } from "./workloads/index.ts";

export type { Answerer, KindMeans } from "./kind-means.ts";
export { validateKubeFinalizers, validateObjectMeta, validateObjectMetaUpdate } from "./object-meta.ts";
export * from "./resource-type.ts";

/** Every resource that is built in. `means` are what some of them need of other parts. */
export function builtInTypes(schemas: Schemas, means: KindMeans = {}): ResourceType[] {
  const definitions = new Map<string, KindDefinition>();
  const complete = withDefaults(means);
  const known = [...coreKinds(complete), ...workloadKinds, ...clusterKinds(complete)];
  for (const one of known) definitions.set(`${one.group}/${one.kind}`, one);
  return [...byKind(builtInResources())].map(([key, entries]) => {
    const first = entries[0] as BuiltInResource;
    const definition = definitions.get(key) ?? { group: first.group, kind: first.kind };
    return resourceType(definition, entries, schemas);
  });
}

/** The versions of one kind together, in the order of discovery: the preferred one first. */
function byKind(resources: readonly BuiltInResource[]): Map<string, BuiltInResource[]> {
  const kinds = new Map<string, BuiltInResource[]>();
  for (const resource of resources) {
    const key = `${resource.group}/${resource.kind}`;
    kinds.set(key, [...(kinds.get(key) ?? []), resource]);
  }
  return kinds;
}
