import { apiVersionOf } from "@fjord/base";
import type { ApiResource } from "./api-resource.ts";

/**
 * What to look for: an object's own words, or what people type: a plural, singular, short or kind name in any case,
 * with a group (`deployments.apps`) or a version and group (`deployments.v1.apps`) where it matters.
 */
export type KindQuery = string | { readonly apiVersion: string; readonly kind: string };

export function describeQuery(query: KindQuery): string {
  return typeof query === "string" ? JSON.stringify(query) : `${query.kind} in ${query.apiVersion}`;
}

/** The first that fits, in the server's order of preference; the core group comes first in it. */
export function findResource(resources: readonly ApiResource[], query: KindQuery): ApiResource | undefined {
  if (typeof query !== "string") {
    return resources.find(({ kind }) => kind.kind === query.kind && apiVersionOf(kind) === query.apiVersion);
  }
  const [word = "", ...rest] = query.toLowerCase().split(".");
  const suffix = rest.join(".");
  const fitting = resources.filter((resource) => isCalled(resource, word) && isIn(resource, suffix));
  // `events` is a plural in two groups, but a short name in one group must not hide another's plural.
  return fitting.find(({ kind }) => kind.plural === word) ?? fitting[0];
}

function isCalled({ kind, singular, shortNames }: ApiResource, word: string): boolean {
  if (word === "") return false;
  return kind.plural === word || singular === word || kind.kind.toLowerCase() === word || shortNames.includes(word);
}

function isIn({ kind }: ApiResource, suffix: string): boolean {
  if (suffix === "" || suffix === kind.group) return true;
  return suffix === (kind.group === "" ? kind.version : `${kind.version}.${kind.group}`);
}
