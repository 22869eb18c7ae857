import type { JsonObject } from "./json-value.ts";

/**
 * One step of a path to a field, as `managedFields` writes it: `f:name` of a field, `k:{"name":"x"}` of an element by
 * its keys, `v:"x"` of one by its value, `i:0` by its place.
 */
export type PathElement = string;

export const fieldElement = (name: string): PathElement => `f:${name}`;
export const valueElement = (value: unknown): PathElement => `v:${JSON.stringify(value)}`;
export const keyElement = (keys: readonly (readonly [string, unknown])[]): PathElement =>
  `k:${JSON.stringify(Object.fromEntries(keys.toSorted(([one], [other]) => compareText(one, other))))}`;

/** The name of a field's step; undefined for an element of a list. */
export function fieldName(element: PathElement): string | undefined {
  return element.startsWith("f:") ? element.slice(2) : undefined;
}

/** A set of paths to fields. A path and what is below it are members each for itself. Not changed but by `insert`. */
export class FieldSet {
  readonly members: ReadonlySet<PathElement>;
  readonly children: ReadonlyMap<PathElement, FieldSet>;

  constructor(members: Iterable<PathElement> = [], children: Iterable<readonly [PathElement, FieldSet]> = []) {
    this.members = new Set(members);
    this.children = new Map([...children].filter(([, set]) => !set.empty));
  }

  get empty(): boolean {
    if (this.members.size > 0) return false;
    for (const child of this.children.values()) if (!child.empty) return false;
    return true;
  }

  /** Only for whoever is making a set. */
  insert(path: readonly PathElement[]): void {
    if (path.length === 0) return;
    let set: FieldSet = this;
    for (const element of path.slice(0, -1)) {
      let child = set.children.get(element);
      if (child === undefined) {
        child = new FieldSet();
        (set.children as Map<PathElement, FieldSet>).set(element, child);
      }
      set = child;
    }
    (set.members as Set<PathElement>).add(path.at(-1) as PathElement);
  }

  has(path: readonly PathElement[]): boolean {
    const [first, ...rest] = path;
    if (first === undefined) return false;
    return rest.length === 0 ? this.members.has(first) : (this.children.get(first)?.has(rest) ?? false);
  }

  below(element: PathElement): FieldSet {
    return this.children.get(element) ?? NOTHING;
  }

  union(other: FieldSet): FieldSet {
    if (other.empty) return this;
    const children = new Map(this.children);
    for (const [element, child] of other.children) {
      const own = children.get(element);
      children.set(element, own === undefined ? child : own.union(child));
    }
    return new FieldSet(this.members.union(other.members), children);
  }

  intersection(other: FieldSet): FieldSet {
    const children = [...this.children].map(
      ([element, child]) => [element, child.intersection(other.below(element))] as const,
    );
    return new FieldSet(this.members.intersection(other.members), children);
  }

  difference(other: FieldSet): FieldSet {
    const children = [...this.children].map(
      ([element, child]) => [element, child.difference(other.below(element))] as const,
    );
    return new FieldSet(this.members.difference(other.members), children);
  }

  /** Without the other's members and all that is below them. */
  without(other: FieldSet): FieldSet {
    const children = [...this.children]
      .filter(([element]) => !other.members.has(element))
      .map(([element, child]) => [element, child.without(other.below(element))] as const);
    return new FieldSet(this.members.difference(other.members), children);
  }

  /** All paths: members first, then what is below them, in order. */
  *paths(prefix: readonly PathElement[] = []): Generator<readonly PathElement[]> {
    for (const element of [...this.members].sort(compareElements)) yield [...prefix, element];
    for (const [element, child] of sortedChildren(this)) yield* child.paths([...prefix, element]);
  }

  /** As `managedFields` has it. */
  toFields(): JsonObject {
    const fields: JsonObject = {};
    const elements = [...this.members.union(new Set(this.children.keys()))].sort(compareElements);
    for (const element of elements) {
      const child = this.children.get(element)?.toFields() ?? {};
      const isMember = this.members.has(element) && Object.keys(child).length > 0;
      fields[element] = isMember ? { ".": {}, ...child } : child;
    }
    return fields;
  }
}

const NOTHING = new FieldSet();

/** Reads what `toFields` writes. Throws a TypeError for what is none. */
export function fieldSetOf(fields: unknown): FieldSet {
  if (typeof fields !== "object" || fields === null || Array.isArray(fields))
    throw new TypeError("fields that are no map");
  const members: PathElement[] = [];
  const children: [PathElement, FieldSet][] = [];
  for (const [element, below] of Object.entries(fields)) {
    if (element === ".") continue;
    if (!/^[fkvi]:/.test(element)) throw new TypeError(`missing colon: ${JSON.stringify(element)}`);
    const child = fieldSetOf(below);
    if (Object.hasOwn(below as object, ".") || child.empty) members.push(normal(element));
    children.push([normal(element), child]);
  }
  return new FieldSet(members, children);
}

/** The one form that a step has here, however it was written. */
function normal(element: PathElement): PathElement {
  if (element.startsWith("v:")) return valueElement(JSON.parse(element.slice(2)));
  return element.startsWith("k:") ? keyElement(Object.entries(JSON.parse(element.slice(2)))) : element;
}

/** A path as messages show it: `.spec.containers[name="x"].image`. */
export function pathText(path: readonly PathElement[]): string {
  return path.map(elementText).join("");
}

export function elementText(element: PathElement): string {
  const rest = element.slice(2);
  if (element.startsWith("f:")) return `.${rest}`;
  if (element.startsWith("v:")) return `[=${rest}]`;
  if (element.startsWith("i:")) return `[${rest}]`;
  const keys = Object.entries(JSON.parse(rest)).map(([name, value]) => `${name}=${JSON.stringify(value)}`);
  return `[${keys.join(",")}]`;
}

const ranks = "fkvi";

function compareElements(one: PathElement, other: PathElement): number {
  const rank = ranks.indexOf(one[0] ?? "") - ranks.indexOf(other[0] ?? "");
  return rank === 0 ? compareText(one, other) : rank;
}

function compareText(one: string, other: string): number {
  return one < other ? -1 : one > other ? 1 : 0;
}

function sortedChildren({ children }: FieldSet): (readonly [PathElement, FieldSet])[] {
  return [...children].sort(([one], [other]) => compareElements(one, other));
}
