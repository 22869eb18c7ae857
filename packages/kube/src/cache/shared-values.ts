import { Familiar } from "@fjord/base";

// V8 itself shares strings of up to ten characters when it parses JSON; very long ones are seldom the same.
const SHORTEST = 11;
const LONGEST = 256;
/** Deeper than any kind of Kubernetes goes. Servers take objects ten thousand levels deep, which would end the stack. */
const DEEPEST = 64;
/** Shared as a whole by the client, hence frozen; and there are no strings in it. */
const FROZEN = "fieldsV1";

type Fields = Record<string, unknown>;

/** Of all objects of the process: uids, names and addresses of a pod are in several kinds of objects. */
const strings = new Familiar<string>(2_048);

/**
 * Makes one of what is equal in several objects. An object that has changed keeps the parts that have not; and the next of many has most
 * in common with the last: labels, owners, containers, tolerations and conditions of a thousand pods are the same, or nearly.
 */
export class SharedValues {
  /** The last ones that were kept, by how many fields their status has: pods that run have more in common than with one that waits. */
  readonly #last = new Map<number, Fields>();

  /** Replaces strings and parts in an object, in place, by those of what it was before and of the last one. What lies very deep stays as it is. */
  share(object: object, before?: object): void {
    choose(object as Fields, before as Fields | undefined, this.#last.get(stage(object)), 0);
  }

  /** The object is kept: the next one may have something in common with it. */
  keep(object: object): void {
    this.#last.set(stage(object), object as Fields);
  }
}

const MOST_STAGES = 16;

function stage({ status }: { status?: unknown }): number {
  return typeof status === "object" && status !== null ? Math.min(Object.keys(status).length, MOST_STAGES) : 0;
}

/** The first of the two models that is equal to the value; else the value, with as much of theirs in it as there can be. */
function choose(value: Fields, first: Fields | undefined, second: Fields | undefined, depth: number): Fields {
  if (depth > DEEPEST) return value;
  let isFirst = isLike(value, first);
  let isSecond = isLike(value, second);
  let count = 0;
  for (const name in value) {
    count++;
    const field = value[name];
    const one = first?.[name];
    const other = second?.[name];
    if (typeof field === "string") {
      if (field.length < SHORTEST) {
        isFirst &&= field === one;
        isSecond &&= field === other;
      } else if (field === one) {
        value[name] = one;
        isSecond &&= field === other;
      } else {
        isFirst = false;
        if (field === other) value[name] = other;
        else {
          isSecond = false;
          if (field.length <= LONGEST) value[name] = strings.meet(field, field);
        }
      }
    } else if (typeof field === "object" && field !== null && name !== FROZEN && name !== "__proto__") {
      const chosen = choose(field as Fields, asFields(one), asFields(other), depth + 1);
      isFirst &&= chosen === one;
      isSecond &&= chosen === other;
      if (chosen !== field) value[name] = chosen;
    } else {
      isFirst &&= field === one;
      isSecond &&= field === other;
    }
  }
  if (isFirst && first !== undefined && sizeOf(first) === count) return first;
  if (isSecond && second !== undefined && sizeOf(second) === count) return second;
  return value;
}

function isLike(value: Fields, model: Fields | undefined): boolean {
  return model !== undefined && Array.isArray(value) === Array.isArray(model);
}

function asFields(value: unknown): Fields | undefined {
  return typeof value === "object" && value !== null ? (value as Fields) : undefined;
}

function sizeOf(value: Fields): number {
  return Array.isArray(value) ? value.length : Object.keys(value).length;
}
