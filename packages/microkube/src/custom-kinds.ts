import type { Cluster } from "./cluster.ts";
import { findAll } from "./cluster-objects.ts";
import { type Definition, GROUP } from "./crd/index.ts";
import type { CustomKind, JsonSchema } from "./schema/index.ts";

/** What OpenAPI tells of custom resources: the same list as long as they stay the same. */
export function customKinds(cluster: Cluster): () => readonly CustomKind[] {
  let known: readonly CustomKind[] | undefined;
  cluster.types.onChange(() => {
    known = undefined;
  });
  return () => {
    known ??= findAll<Definition>(cluster, "CustomResourceDefinition", undefined, GROUP).flatMap((definition) =>
      kindsOf(cluster, definition),
    );
    return known;
  };
}

function kindsOf({ types }: Cluster, { spec }: Definition): CustomKind[] {
  const { group, names, scope, versions } = spec;
  return versions
    .filter(({ name, served }) => served && types.find(group, name, names.plural) !== undefined)
    .map(({ name, schema, subresources }) => ({
      group,
      version: name,
      kind: names.kind,
      listKind: names.listKind ?? `${names.kind}List`,
      plural: names.plural,
      namespaced: scope === "Namespaced",
      schema: schema?.openAPIV3Schema as JsonSchema | undefined,
      preserveUnknownFields: (spec as { preserveUnknownFields?: boolean }).preserveUnknownFields === true,
      hasStatus: subresources?.status !== undefined,
      hasScale: subresources?.scale !== undefined,
    }));
}
