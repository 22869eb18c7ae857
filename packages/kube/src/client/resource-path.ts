import type { Kind } from "@fjord/base";
import { InvalidAddress } from "./errors.ts";
import type { ObjectKey } from "./interfaces.ts";

/** `/api/v1` or `/apis/apps/v1`. */
export function groupVersionPath(kind: Pick<Kind, "group" | "version">): string {
  const version = segment("a kind", "version", kind.version);
  return kind.group === "" ? `/api/${version}` : `/apis/${segment("a kind", "group", kind.group)}/${version}`;
}

/** Where the objects of a kind are: in one namespace, or everywhere when `namespace` is absent. */
export function collectionPath(kind: Kind, namespace: string | undefined): string {
  const base = groupVersionPath(kind);
  const plural = segment(kind.kind, "plural", kind.plural);
  if (namespace === undefined || namespace === "") return `${base}/${plural}`;
  if (!kind.namespaced) {
    throw new InvalidAddress({ target: `${kind.kind} in ${namespace}`, reason: "the kind is not namespaced" });
  }
  return `${base}/namespaces/${segment(kind.kind, "namespace", namespace)}/${plural}`;
}

/** Where one object is, or a subresource of it such as `status`. */
export function objectPath(kind: Kind, key: ObjectKey, subresource?: string): string {
  if (kind.namespaced && (key.namespace === undefined || key.namespace === "")) {
    throw new InvalidAddress({
      target: describeTarget(kind, key),
      reason: "the kind is namespaced and none was given",
    });
  }
  const path = `${collectionPath(kind, key.namespace)}/${segment(kind.kind, "name", key.name)}`;
  return subresource === undefined ? path : `${path}/${segment(kind.kind, "subresource", subresource)}`;
}

/** `Pod default/web`, as errors name it. */
export function describeTarget(kind: Pick<Kind, "kind">, key?: Partial<ObjectKey>): string {
  if (key === undefined || (key.name === undefined && !key.namespace)) return kind.kind;
  const name = key.name ?? "*";
  return `${kind.kind} ${key.namespace ? `${key.namespace}/${name}` : name}`;
}

export type QueryValue = string | number | boolean | undefined;

/** `?a=1&b=x`, leaving out what is undefined; empty when nothing is left. */
export function queryString(parameters: Record<string, QueryValue>): string {
  let query = "";
  for (const name in parameters) {
    const value = parameters[name];
    if (value === undefined) continue;
    if (typeof value === "string" && !value.isWellFormed()) {
      throw new InvalidAddress({ target: `objects by ${name}`, reason: "it holds half a character" });
    }
    query += `${query === "" ? "?" : "&"}${name}=${encodeURIComponent(value)}`;
  }
  return query;
}

// A server resolves `..` and empty segments, and would act on another object than the one that was meant.
// Kinds come from servers too, and are trusted no more than names.
function segment(kind: string, what: string, value: string): string {
  const target = `${kind} ${JSON.stringify(value)}`;
  if (typeof value !== "string" || value === "") throw new InvalidAddress({ target, reason: `its ${what} is empty` });
  if (!value.isWellFormed()) throw new InvalidAddress({ target, reason: `its ${what} holds half a character` });
  if (value === "." || value === "..") throw new InvalidAddress({ target, reason: `${value} is no ${what}` });
  if (/[/%]/.test(value))
    throw new InvalidAddress({ target, reason: `a ${what} holds neither a slash nor a percent sign` });
  return encodeURIComponent(value);
}
