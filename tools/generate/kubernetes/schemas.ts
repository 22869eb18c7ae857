import { compactDefinition, isSpecial, shortName } from "./compact-schema.ts";
import { addEmptyValues } from "./empty-values.ts";
import type { GoTypes } from "./go-types.ts";
import { GROUPS } from "./groups.ts";
import type { OpenApiDocument } from "./openapi.ts";

/**
 * The text of the schemas' file: a line of JSON with each kind's definition, then a line for each definition: its name,
 * a tab, its schema. So a reader takes only the lines that it needs.
 */
export function schemaLines(documents: readonly OpenApiDocument[], types: GoTypes): string {
  const kinds: Record<string, string> = {};
  const definitions = new Map<string, string>();
  for (const { components } of documents) {
    for (const [name, schema] of Object.entries(components.schemas ?? {})) {
      const short = shortName(name);
      if (definitions.has(short)) continue;
      const made = compactDefinition(name, schema);
      const type = types.get(name);
      if (type === undefined && schema.properties) throw new Error(`no Go type for the definition ${name}`);
      if (type !== undefined && !isSpecial(name)) addEmptyValues(made, type, types);
      definitions.set(short, JSON.stringify(made));
      const gvks = schema["x-kubernetes-group-version-kind"] ?? [];
      for (const { group, version, kind } of gvks) {
        // Options and watch events are there for every group; one definition serves all of them.
        if (gvks.length > 1 ? group === "" && version === "v1" : GROUPS.includes(group)) {
          kinds[`${group}/${version}/${kind}`] = short;
        }
      }
    }
  }
  const lines = [...definitions]
    .sort(([one], [other]) => (one < other ? -1 : 1))
    .map(([name, text]) => `${name}\t${text}`);
  return `${JSON.stringify(kinds)}\n${lines.join("\n")}\n`;
}
