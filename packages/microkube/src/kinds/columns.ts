import type { DraftObject, KindColumn } from "./kind.ts";
import { since } from "./values/duration.ts";

type Cell = string | number | boolean | null;
type CellOf<T> = (object: DraftObject<T>, now: number) => Cell;

/** A column of texts, as most are. */
export function text<T>(name: string, value: CellOf<T>): KindColumn<T> {
  return { name, type: "string", value };
}

export function integer<T>(name: string, value: CellOf<T>): KindColumn<T> {
  return { name, type: "integer", value };
}

export function boolean<T>(name: string, value: CellOf<T>): KindColumn<T> {
  return { name, type: "boolean", value };
}

/** Shown with `-o wide` only. */
export function wide<T>(column: KindColumn<T>): KindColumn<T> {
  return { ...column, priority: 1 };
}

export function nameColumn<T>(): KindColumn<T> {
  return { name: "Name", type: "string", format: "name", value: ({ metadata }) => metadata.name ?? "" };
}

export function ageColumn<T>(): KindColumn<T> {
  return text("Age", ({ metadata }, now) => since(metadata.creationTimestamp, now));
}

/** A name, some columns, an age, and those of `-o wide`: what most tables are. */
export function columnsOf<T>(...own: KindColumn<T>[]): KindColumn<T>[] {
  const always = own.filter(({ priority }) => priority !== 1);
  const more = own.filter(({ priority }) => priority === 1);
  return [nameColumn(), ...always, ageColumn(), ...more];
}

export const orNone = (value: string | undefined): string => (value === undefined || value === "" ? "<none>" : value);
export const orUnset = (value: Cell | undefined): Cell => (value === undefined || value === "" ? "<unset>" : value);

/** `a=b,c=d`, in the order of keys. */
export function labelsText(labels: Readonly<Record<string, string | undefined>> | undefined): string {
  const pairs = Object.entries(labels ?? {}).map(([key, value]) => `${key}=${value}`);
  return orNone(pairs.sort().join(","));
}

interface Templated {
  containers?: { name?: string; image?: string }[];
}

/** Names and images of a template's containers, for `-o wide`. */
export function containerColumns<T>(specOf: (object: DraftObject<T>) => Templated | undefined): KindColumn<T>[] {
  const list = (object: DraftObject<T>, field: "name" | "image") =>
    (specOf(object)?.containers ?? []).map((container) => container[field] ?? "").join(",");
  return [
    wide(text("Containers", (object) => list(object, "name"))),
    wide(text("Images", (object) => list(object, "image"))),
  ];
}

/** What kinds without columns of their own have. */
export const plainColumns: KindColumn<Record<string, unknown>>[] = [
  nameColumn(),
  { name: "Created At", type: "date", value: ({ metadata }) => metadata.creationTimestamp ?? "" },
];
