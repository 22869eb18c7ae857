import type { KindColumn } from "./kind.ts";
import { since } from "./values/duration.ts";

type Common = KindColumn<Record<string, unknown>>;

const nameDescription =
  "Name must be unique within a namespace. Is required when creating resources, although some resources may allow a client to request the generation of an appropriate name automatically. Name is primarily intended for creation idempotence and configuration definition. Cannot be updated. More info: https://kubernetes.io/docs/concepts/overview/working-with-objects/names#names";
const createdDescription =
  "CreationTimestamp is a timestamp representing the server time when this object was created. It is not guaranteed to be set in happens-before order across separate operations. Clients may not set this value. It is represented in RFC3339 form and is in UTC.\n\nPopulated by the system. Read-only. Null for lists. More info: https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#metadata";

export const nameColumn: Common = {
  name: "Name",
  type: "string",
  format: "name",
  description: nameDescription,
  value: ({ metadata }) => metadata.name ?? "",
};

export const ageColumn: Common = {
  name: "Age",
  type: "string",
  description: createdDescription,
  value: ({ metadata }, now) => since(metadata.creationTimestamp, now),
};

/** `CREATED AT`, where an age says little. */
export const createdAtColumn: Common = {
  name: "Created At",
  type: "string",
  description: createdDescription,
  value: ({ metadata }) => metadata.creationTimestamp ?? "",
};

/** Between a name and an age: what most tables are. */
export function columnsOf<T>(...own: KindColumn<T>[]): KindColumn<T>[] {
  const always = own.filter(({ priority }) => priority !== 1);
  const wide = own.filter(({ priority }) => priority === 1);
  return [nameColumn as unknown as KindColumn<T>, ...always, ageColumn as unknown as KindColumn<T>, ...wide];
}

export const orNone = (text: string | undefined): string => (text === undefined || text === "" ? "<none>" : text);
export const orUnset = (text: string | undefined): string => (text === undefined || text === "" ? "<unset>" : text);
