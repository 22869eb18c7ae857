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
  /** None of them is empty. */
  readonly children: ReadonlyMap<PathElement, FieldSet>;

  constructor(members: Iterable<PathElement> = [], children: Iterable<readonly [PathElement, FieldSet]> = []) {
    this.members = members instanceof Set ? members : new Set(members);
    this.children = children instanceof Map ? children : new Map(children);
  }

  get empty(): boolean {
    return this.members.size === 0 && this.children.size === 0;
  }

  /** Only for whoever is making a set. */
  insert(path: readonly PathElement[]): void {
    if (path.length === 0) return;
    let set: FieldSet = this;
    for (let at = 0; at < path.length - 1; at++) {
      const element = path[at] as PathElement;
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
    if (other.empty || other === this) return this;
    if (this.empty) return other;
    const children = new Map(this.children);
    for (const [element, child] of other.children) {
      const own = children.get(element);
      children.set(element, own === undefined ? child : own.union(child));
    }
    return new FieldSet(this.members.union(other.members), children);
  }

  intersection(other: FieldSet): FieldSet {
    if (this.empty || other.empty) return NOTHING;
    const children = new Map<PathElement, FieldSet>();
    for (const [element, child] of other.children) {
      const common = this.below(element).intersection(child);
      if (!common.empty) children.set(element, common);
    }
    return new FieldSet(this.members.intersection(other.members), children);
  }

  /** This very set if there is nothing of the other in it. */
  difference(other: FieldSet): FieldSet {
    return this.#less(other, (child, element) => child.difference(other.below(element)));
  }

  /** Without the other's members and all that is below them. */
  without(other: FieldSet): FieldSet {
    return this.#less(other, (child, element) =>
      other.members.has(element) ? NOTHING : child.without(other.below(element)),
    );
  }

  #less(other: FieldSet, lessChild: (child: FieldSet, element: PathElement) => FieldSet): FieldSet {
    if (this.empty || other.empty) return this;
    let children: Map<PathElement, FieldSet> | undefined;
    for (const [element, child] of this.children) {
      const left = lessChild(child, element);
      if (left === child) continue;
      children ??= new Map(this.children);
      if (left.empty) children.delete(element);
      else children.set(element, left);
    }
    const isDisjoint = this.members.isDisjointFrom(other.members);
    if (children === undefined && isDisjoint) return this;
    return new FieldSet(isDisjoint ? this.members : this.members.difference(other.members), children ?? this.children);
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

const known = new WeakMap<object, FieldSet>();

/** Reads what `toFields` writes, once for each object, which must not change. Throws a TypeError for what is none. */
export function fieldSetOf(fields: unknown): FieldSet {
  if (typeof fields !== "object" || fields === null || Array.isArray(fields)) {
    throw new TypeError("fields that are no map");
  }
  const before = known.get(fields);
  if (before !== undefined) return before;
  const set = readFields(fields);
  known.set(fields, set);
  return set;
}

function readFields(fields: object): FieldSet {
  const members = new Set<PathElement>();
  const children = new Map<PathElement, FieldSet>();
  for (const [element, below] of Object.entries(fields)) {
    if (element === ".") continue;
    if (!/^[fkvi]:/.test(element)) throw new TypeError(`missing colon: ${JSON.stringify(element)}`);
    if (typeof below !== "object" || below === null || Array.isArray(below)) {
      throw new TypeError("fields that are no map");
    }
    const child = readFields(below);
    const one = normal(element);
    if (child.empty || Object.hasOwn(below, ".")) members.add(one);
    if (!child.empty) children.set(one, child);
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
