import type { Kind } from "@fjord/base";

/** What a request path names. */
export interface ApiPath {
  readonly apiVersion: string;
  /** `plural` or `plural.group`. */
  readonly resource: string;
  readonly namespace?: string;
  readonly name?: string;
  readonly subresource?: string;
}

const pattern =
  /^\/(?:api|apis\/([^/]+))\/([^/]+)(?:\/namespaces\/([^/]+)(?=\/))?\/([^/]+)(?:\/([^/]+))?(?:\/([^/]+))?$/;

/** Reads a resource path of the Kubernetes API; undefined where it is none. */
export function parseApiPath(path: string): ApiPath | undefined {
  const match = pattern.exec(path);
  if (match === null) return undefined;
  const [, group, version = "", namespace, plural = "", name, subresource] = match;
  return {
    apiVersion: group === undefined ? version : `${group}/${version}`,
    resource: group === undefined ? plural : `${plural}.${group}`,
    ...(namespace !== undefined && { namespace }),
    ...(name !== undefined && { name }),
    ...(subresource !== undefined && { subresource }),
  };
}

/** The name under which the store keeps a kind. */
export function resourceOf(kind: Pick<Kind, "group" | "plural">): string {
  return kind.group === "" ? kind.plural : `${kind.plural}.${kind.group}`;
}
