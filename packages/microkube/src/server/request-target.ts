import type { Attributes } from "../authorization/authorizer.ts";
import { badRequest } from "../status-error.ts";

/** A request for a resource, as its path and method tell it. */
export interface ResourceTarget {
  readonly verb: string;
  readonly group: string;
  readonly version: string;
  /** Empty: in none, or in all. */
  readonly namespace: string;
  readonly resource: string;
  /** Empty: the collection. */
  readonly name: string;
  readonly subresource: string;
  /** What follows the subresource: the path of a proxied request, as it was sent. */
  readonly rest: string;
}

/** Anything else: `/version`, `/apis`. */
export interface PathTarget {
  readonly verb: string;
  readonly path: string;
}

export type Target = ResourceTarget | PathTarget;

const collectionVerbs: Record<string, string> = {
  GET: "list",
  HEAD: "list",
  POST: "create",
  DELETE: "deletecollection",
};
const objectVerbs: Record<string, string> = {
  GET: "get",
  HEAD: "get",
  POST: "create",
  PUT: "update",
  PATCH: "patch",
  DELETE: "delete",
};
/** Of a namespace's own subresources; any other word there is a resource in it. */
const namespaceSubresources = new Set(["status", "finalize"]);

/** What is asked for. Throws (400) where the path cannot be read. */
export function targetOf(method: string, path: string, query: URLSearchParams): Target {
  const parts = path.split("/").slice(1);
  const root = parts[0];
  const isCore = root === "api" && parts.length >= 3;
  const isGroup = root === "apis" && parts.length >= 4;
  if ((!isCore && !isGroup) || parts[isCore ? 2 : 3] === "") return { verb: method.toLowerCase(), path };
  const group = isCore ? "" : decode(parts[1] as string);
  const version = decode(parts[isCore ? 1 : 2] as string);
  let rest = parts.slice(isCore ? 2 : 3);
  const isWatchPath = rest[0] === "watch" && rest.length > 1;
  if (isWatchPath) rest = rest.slice(1);
  if (rest.at(-1) === "" && rest.length > 1 && rest.length < 5) rest = rest.slice(0, -1);
  const place = placeOf(rest);
  const verb = verbOf(method, place.name, query, isWatchPath);
  return { verb, group, version, ...place };
}

function placeOf(
  parts: readonly string[],
): Pick<ResourceTarget, "namespace" | "resource" | "name" | "subresource" | "rest"> {
  const [first = "", second = "", third = "", fourth = "", fifth = ""] = parts;
  const isNamespaced = first === "namespaces" && third !== "" && !namespaceSubresources.has(third);
  if (isNamespaced) {
    const rest = parts.length > 5 ? `/${parts.slice(5).join("/")}` : "";
    return {
      namespace: decode(second),
      resource: decode(third),
      name: decode(fourth),
      subresource: decode(fifth),
      rest,
    };
  }
  const rest = parts.length > 3 ? `/${parts.slice(3).join("/")}` : "";
  return { namespace: "", resource: decode(first), name: decode(second), subresource: decode(third), rest };
}

function verbOf(method: string, name: string, query: URLSearchParams, isWatchPath: boolean): string {
  const verb = (name === "" ? collectionVerbs : objectVerbs)[method] ?? method.toLowerCase();
  const isRead = verb === "list" || (verb === "get" && isWatchPath);
  if (isRead && (isWatchPath || isTrue(query.get("watch")))) return "watch";
  return verb;
}

/** A boolean parameter, as Go reads it: given without a value it is set. */
export function isTrue(value: string | null): boolean {
  return value !== null && !["0", "false"].includes(value.toLowerCase());
}

function decode(part: string): string {
  if (!part.includes("%")) return part;
  try {
    return decodeURIComponent(part);
  } catch {
    throw badRequest(`invalid URL escape ${JSON.stringify(part)}`);
  }
}

export function isResource(target: Target): target is ResourceTarget {
  return "resource" in target;
}

/** As authorisation sees it. */
export function attributesOf(target: Target, query: URLSearchParams): Attributes {
  if (!isResource(target)) return target;
  const { verb, group, version, resource, subresource, name } = target;
  // Who may get a namespace is asked in that namespace.
  const namespace = resource === "namespaces" && group === "" ? name : target.namespace;
  const labelSelector = query.get("labelSelector");
  const fieldSelector = query.get("fieldSelector");
  const isMany = verb === "list" || verb === "watch" || verb === "deletecollection";
  return {
    ...{ verb, group, version, resource, subresource, namespace },
    name: isMany && name === "" ? (nameInSelector(fieldSelector) ?? "") : name,
    ...(isMany && labelSelector && { labelSelector }),
    ...(isMany && fieldSelector && { fieldSelector }),
  };
}

/** A watch or a list of one name is a question about that name. */
function nameInSelector(selector: string | null): string | undefined {
  const match = /(?:^|,)metadata\.name==?([^,=!]+)(?:,|$)/.exec(selector ?? "");
  return match?.[1];
}
