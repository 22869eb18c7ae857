import type { KubeObject } from "@fjord/base";
import type { ApiPath } from "./api-path.ts";
import type { RevisionStore } from "./revision-store.ts";
import type { Selector } from "./selector.ts";
import { expired, statusOf, tooLargeRevision } from "./status.ts";

/** One page of a list, with the meanings that Kubernetes gives to resource versions and continue tokens. */
export function listPage(
  store: RevisionStore,
  path: ApiPath,
  query: URLSearchParams,
  selector: Selector,
  /** Tokens of pages that began before this revision are expired. */
  tokensFrom: number,
): unknown {
  const limit = Number(query.get("limit") ?? 0);
  const token = query.get("continue");
  const start = token === null ? undefined : parseToken(token);
  if (start !== undefined && (start.revision < tokensFrom || start.revision > store.revision))
    throw expired(start.revision, Math.max(tokensFrom, store.compacted));
  const revision = start?.revision ?? firstPageRevision(store, query, limit);
  const found = store
    .list(path.resource, revision)
    .filter(
      ([key, object]) => (start === undefined || key > start.after) && inNamespace(object, path) && selector(object),
    );
  const page = limit > 0 ? found.slice(0, limit) : found;
  const last = page.at(-1);
  const more = found.length - page.length;
  const kind = found[0]?.[1].kind ?? "Object";
  return {
    kind: `${kind}List`,
    apiVersion: path.apiVersion,
    metadata: {
      resourceVersion: String(revision),
      ...(more > 0 && last !== undefined && { continue: tokenOf(revision, last[0]) }),
      ...(more > 0 && !query.has("labelSelector") && !query.has("fieldSelector") && { remainingItemCount: more }),
    },
    items: page.map(([, { apiVersion: _, kind: __, ...object }]) => object),
  };
}

function firstPageRevision(store: RevisionStore, query: URLSearchParams, limit: number): number {
  const asked = Number(query.get("resourceVersion") ?? 0);
  if (asked === 0) return store.revision;
  const match = query.get("resourceVersionMatch") ?? (limit > 0 ? "Exact" : "NotOlderThan");
  if (match === "Exact") return asked;
  if (asked > store.revision) throw tooLargeRevision(asked, store.revision);
  return store.revision;
}

function inNamespace(object: KubeObject, path: ApiPath): boolean {
  return path.namespace === undefined || object.metadata.namespace === path.namespace;
}

function tokenOf(revision: number, after: string): string {
  return Buffer.from(JSON.stringify({ revision, after })).toString("base64url");
}

function parseToken(token: string): { revision: number; after: string } {
  try {
    return JSON.parse(Buffer.from(token, "base64url").toString());
  } catch {
    throw statusOf(400, "continue key is not valid");
  }
}
