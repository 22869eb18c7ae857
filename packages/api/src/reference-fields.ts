import {
  type AnySchema,
  duration,
  endpoint,
  labelName,
  objectName,
  quantity,
  type StructuralSchema,
  siteId,
  time,
  uid,
} from "./schema/index.ts";

const shared: readonly AnySchema[] = [siteId(), labelName(), objectName(), uid(), endpoint(), quantity()];
const sharedNames = new Set(shared.map((schema) => schema.parts.typeName));

/** The types that many fields share, each with the words of its rule. */
export function formats(): string[][] {
  const rows = [...shared, duration()].map((schema) => [schema.parts.typeName, messages(schema.node).join("; ")]);
  return [...rows, [time().parts.typeName, "must be a moment as RFC 3339 writes it, such as 2030-01-01T00:00:00Z"]];
}

/** One row per field, depth first: path, type, default, limits, meaning. */
export function fieldRows(path: string, schema: AnySchema): string[][] {
  const { node, typeName, children = {} } = schema.parts;
  const shown = node.default === undefined ? "" : `\`${JSON.stringify(node.default)}\``;
  const row = [`\`${path}\``, typeName, shown, limits(schema).join("; "), node.description ?? ""];
  return [row, ...Object.entries(children).flatMap(([suffix, child]) => childRows(path + suffix, child))];
}

/** What a list or a map holds needs no row of its own; the fields below it do. */
function childRows(path: string, child: AnySchema): string[][] {
  const rows = fieldRows(path, child);
  return path.endsWith("[]") || path.endsWith(".*") ? rows.slice(1) : rows;
}

function limits(schema: AnySchema): string[] {
  const { node, typeName, immutable, children } = schema.parts;
  const words: string[] = [];
  if (schema.presence === "required") words.push("required");
  if (immutable !== undefined) words.push("immutable");
  words.push(...range(node.minLength, node.maxLength, "characters"));
  words.push(...range(node.minItems, node.maxItems, "items"));
  words.push(...range(node.minProperties, node.maxProperties, "entries"));
  words.push(...range(node.minimum, node.maximum, ""));
  if (node["x-kubernetes-list-map-keys"]) words.push(`one per ${node["x-kubernetes-list-map-keys"].join(" and ")}`);
  if (node["x-kubernetes-list-type"] === "set") words.push("no value twice");
  if (!sharedNames.has(typeName)) words.push(...messages(node));
  const item = children?.["[]"];
  if (item && !sharedNames.has(item.parts.typeName)) words.push(...messages(item.node));
  return words;
}

function range(least: number | undefined, most: number | undefined, unit: string): string[] {
  if (least === undefined && most === undefined) return [];
  const words =
    most === undefined ? `at least ${least}` : least === undefined ? `at most ${most}` : `${least} to ${most}`;
  return [`${words} ${unit}`.trimEnd()];
}

function messages(node: StructuralSchema): string[] {
  const rules = (node["x-kubernetes-validations"] ?? []).filter(
    ({ message }) => !message.startsWith("cannot be changed"),
  );
  return rules.map(({ message, fieldPath }) => (fieldPath ? `\`${fieldPath.slice(1)}\` ${message}` : message));
}
