import type { KubeObject } from "@fjord/base";
import type { Column, ResourceType, RowCondition } from "../kinds/resource-type.ts";

/** What a row carries of its object. */
export type IncludedObject = "None" | "Metadata" | "Object";

const byDefault: readonly Column[] = [
  {
    name: "Name",
    type: "string",
    format: "name",
    description:
      "Name must be unique within a namespace. Is required when creating resources, although some resources may allow a client to request the generation of an appropriate name automatically. Name is primarily intended for creation idempotence and configuration definition. Cannot be updated. More info: https://kubernetes.io/docs/concepts/overview/working-with-objects/names#names",
    priority: 0,
    value: ({ metadata }) => metadata.name ?? "",
  },
  {
    name: "Created At",
    type: "date",
    description:
      "CreationTimestamp is a timestamp representing the server time when this object was created. It is not guaranteed to be set in happens-before order across separate operations. Clients may not set this value. It is represented in RFC3339 form and is in UTC.\n\nPopulated by the system. Read-only. Null for lists. More info: https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#metadata",
    priority: 0,
    value: ({ metadata }) => metadata.creationTimestamp ?? "",
  },
];

export function columnsOf(type: ResourceType, version: string): readonly Column[] {
  return type.ofVersion?.(version).columns ?? type.columns ?? byDefault;
}

/** The text of a Table's definitions of columns. */
export function columnDefinitions(columns: readonly Column[]): string {
  return JSON.stringify(
    columns.map(({ name, type, format = "", description = "", priority }) => ({
      name,
      type,
      format,
      description,
      priority,
    })),
  );
}

/** One row of an object, which is as the request's version has it. */
export function rowText(
  columns: readonly Column[],
  object: KubeObject,
  included: IncludedObject,
  now: number,
  version: string,
  conditions: readonly RowCondition[] = [],
): string {
  const cells = columns.map(({ value }) => value(object, now));
  const carried = included === "None" ? undefined : included === "Object" ? object : partialOf(object, version);
  return JSON.stringify({
    cells,
    ...(conditions.length > 0 && { conditions }),
    ...(carried !== undefined && { object: carried }),
  });
}

export function partialOf({ metadata }: KubeObject, version: string): KubeObject {
  return { kind: "PartialObjectMetadata", apiVersion: `meta.k8s.io/${version}`, metadata };
}
