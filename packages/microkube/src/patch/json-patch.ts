import { finish, type Steps } from "../pace.ts";
import { StatusError } from "../status-error.ts";
import { equal, isObject, type JsonObject, setField } from "./json-value.ts";

/** The server's whole answer to a JSON patch that cannot be done. */
function rejected(): StatusError {
  return new StatusError(422, "Invalid", "the server rejected our request due to an error in our request", {});
}

function copiesTooMuch(size: number): StatusError {
  const why = `Unable to complete the copy, the accumulated size increase of copy is ${size}, exceeding the limit ${MOST_COPIED}`;
  return new StatusError(413, "RequestEntityTooLarge", `Request entity too large: ${why}`);
}

/** As deep as a body may be, and so whatever is made of one. */
const DEEPEST = 1_000;

/** What the copies of one patch may add up to, in characters. */
const MOST_COPIED = 3 * 1024 * 1024;

/**
 * A JSON patch (RFC 6902) as the real server does it, which is more lenient in places: `replace` sets what is not there,
 * `copy` of nothing copies null, `add` without a value adds null. `object` is not changed.
 */
export function jsonPatch(object: unknown, operations: readonly unknown[]): unknown {
  return finish(jsonPatchSteps(object, operations));
}

/** The same, one operation at a time: in a large object each may take a while. */
export function* jsonPatchSteps(object: unknown, operations: readonly unknown[]): Steps<unknown> {
  let document: unknown = structuredClone(object);
  let copied = 0;
  for (const operation of operations) {
    if (!isObject(operation)) throw rejected();
    // A handful of them could double an object until there is no memory left.
    if (operation.op === "copy" && typeof operation.from === "string") {
      if (isTooDeep(find(document, operation.from))) throw rejected();
      copied += (JSON.stringify(find(document, operation.from)) ?? "").length;
      if (copied > MOST_COPIED) throw copiesTooMuch(copied);
    }
    document = perform(document, operation);
    yield;
  }
  if (isTooDeep(document)) throw rejected();
  return document;
}

/** Moved into each other, small objects become deeper than a body may be. Without recursion, for which it may be too deep. */
function isTooDeep(value: unknown): boolean {
  let level: unknown[] = [value];
  for (let depth = 0; depth <= DEEPEST; depth++) {
    level = level.flatMap((one) => (typeof one === "object" && one !== null ? Object.values(one) : []));
    if (level.length === 0) return false;
  }
  return true;
}

function perform(document: unknown, { op, path, from, value = null }: JsonObject): unknown {
  if (typeof path !== "string") throw rejected();
  switch (op) {
    case "add":
      return place(document, path, structuredClone(value), "add");
    case "replace":
      return place(document, path, structuredClone(value), "replace");
    case "remove":
      return remove(document, path).document;
    case "move": {
      if (typeof from !== "string") throw rejected();
      const { document: rest, removed } = remove(document, from);
      return place(rest, path, removed, "add");
    }
    case "copy":
      if (typeof from !== "string") throw rejected();
      return place(document, path, structuredClone(find(document, from) ?? null), "add");
    case "test":
      if (!equal(find(document, path) ?? null, value)) throw rejected();
      return document;
    default:
      throw rejected();
  }
}

/** What holds the last part of a path, and that part. */
function locate(document: unknown, path: string): { holder: JsonObject | unknown[]; key: string } {
  const parts = partsOf(path);
  const key = parts.pop() ?? "";
  let holder = document;
  for (const part of parts) holder = child(holder, part);
  if (typeof holder !== "object" || holder === null) throw rejected();
  return { holder: holder as JsonObject | unknown[], key };
}

function partsOf(path: string): string[] {
  if (!path.startsWith("/")) throw rejected();
  return path
    .slice(1)
    .split("/")
    .map((part) => part.replaceAll("~1", "/").replaceAll("~0", "~"));
}

function child(holder: unknown, part: string): unknown {
  if (Array.isArray(holder)) return holder[indexIn(part, holder.length - 1)];
  return isObject(holder) && Object.hasOwn(holder, part) ? holder[part] : undefined;
}

/** Negative ones count from the end. */
function indexIn(part: string, most: number): number {
  if (!/^-?\d+$/.test(part)) throw rejected();
  const index = Number(part);
  const at = index < 0 ? index + most + 1 : index;
  if (at < 0 || at > most) throw rejected();
  return at;
}

function find(document: unknown, path: string): unknown {
  if (path === "") return document;
  const { holder, key } = locate(document, path);
  return child(holder, key);
}

function place(document: unknown, path: string, value: unknown, how: "add" | "replace"): unknown {
  if (path === "") return value;
  const { holder, key } = locate(document, path);
  if (!Array.isArray(holder)) setField(holder, key, value);
  else if (how === "replace") holder[indexIn(key, holder.length - 1)] = value;
  else if (key === "-") holder.push(value);
  else holder.splice(indexIn(key, holder.length), 0, value);
  return document;
}

function remove(document: unknown, path: string): { document: unknown; removed: unknown } {
  if (path === "") throw rejected();
  const { holder, key } = locate(document, path);
  if (Array.isArray(holder)) {
    const [removed] = holder.splice(indexIn(key, holder.length - 1), 1);
    return { document, removed };
  }
  if (!Object.hasOwn(holder, key)) throw rejected();
  const removed = holder[key];
  delete holder[key];
  return { document, removed };
}
