import { createHash } from "node:crypto";
import { GROUPS } from "./groups.ts";

/** Whether microkube serves what a path of the API is about. */
export function isServedPath(path: string): boolean {
  const [, prefix = "", group = ""] = path.split("/");
  return prefix !== "apis" || group === "" || GROUPS.includes(group);
}

interface Swagger {
  paths: Record<string, unknown>;
  definitions: Record<string, { "x-kubernetes-group-version-kind"?: { group: string }[] }>;
}

/** The document of all of the API without the groups that microkube does not serve. */
export function servedSwagger(document: Swagger): Swagger {
  const paths = Object.fromEntries(Object.entries(document.paths).filter(([path]) => isServedPath(path)));
  const definitions: Swagger["definitions"] = {};
  // Definitions and paths come last: that is where those of custom resources are put in.
  const { paths: _p, definitions: _d, ...rest } = document;
  const waiting = [
    ...refsIn(paths),
    ...refsIn(rest),
    ...Object.keys(document.definitions).filter((name) => isServedKind(document, name)),
  ];
  for (let name = waiting.pop(); name !== undefined; name = waiting.pop()) {
    const definition = document.definitions[name];
    if (definition === undefined || name in definitions) continue;
    definitions[name] = definition;
    waiting.push(...refsIn(definition));
  }
  const sorted = Object.entries(definitions).sort(([one], [other]) => (one < other ? -1 : 1));
  return { ...rest, definitions: Object.fromEntries(sorted), paths };
}

function isServedKind({ definitions }: Swagger, name: string): boolean {
  const kinds = definitions[name]?.["x-kubernetes-group-version-kind"] ?? [];
  return kinds.some(({ group }) => GROUPS.includes(group));
}

function refsIn(value: unknown): string[] {
  return [...JSON.stringify(value).matchAll(/"#\/definitions\/([^"]+)"/g)].map(([, name = ""]) => name);
}

/** As the server writes them in addresses. */
export function hashOf(text: string): string {
  return createHash("sha512").update(text).digest("hex").toUpperCase();
}
