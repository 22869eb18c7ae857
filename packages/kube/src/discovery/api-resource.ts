import { apiVersionOf, type Kind } from "@fjord/base";
import { parseApiVersion } from "../kinds/typed.ts";

/** A kind as the server describes it. */
export interface ApiResource {
  readonly kind: Kind;
  readonly singular: string;
  readonly shortNames: readonly string[];
  readonly categories: readonly string[];
  readonly verbs: readonly string[];
  /** Such as `status` and `scale`. */
  readonly subresources: readonly string[];
}

/** What a server was found to serve, in its own order of preference. */
export interface ApiSurface {
  readonly resources: readonly ApiResource[];
  /** Groups whose own server, behind this one, did not answer. */
  readonly unanswered: readonly Unanswered[];
}

export interface Unanswered {
  /** Such as `metrics.k8s.io/v1beta1`. */
  readonly groupVersion: string;
  readonly reason: string;
}

/** `APIGroupDiscoveryList` of apidiscovery.k8s.io: everything in one answer. */
export interface AggregatedList {
  kind: "APIGroupDiscoveryList";
  items?: { metadata?: { name?: string }; versions?: AggregatedVersion[] }[];
}

interface AggregatedVersion {
  version: string;
  /** `Stale` where an aggregated server was out of reach when the answer was made. */
  freshness?: string;
  resources?: {
    resource: string;
    responseKind?: { kind?: string };
    scope?: string;
    singularResource?: string;
    shortNames?: string[];
    categories?: string[];
    verbs?: string[];
    subresources?: { subresource: string }[];
  }[];
}

export function aggregatedSurface(list: AggregatedList): ApiSurface {
  const resources: ApiResource[] = [];
  const unanswered: Unanswered[] = [];
  for (const item of list.items ?? []) {
    const group = item.metadata?.name ?? "";
    for (const { version, freshness, resources: served = [] } of item.versions ?? []) {
      if (freshness === "Stale") {
        const groupVersion = apiVersionOf({ group, version });
        unanswered.push({ groupVersion, reason: "the server calls what it knows of it stale" });
      }
      for (const one of served) {
        const kind = one.responseKind?.kind;
        // A parent of subresources only, with no objects of its own.
        if (!kind) continue;
        resources.push({
          kind: { group, version, kind, plural: one.resource, namespaced: one.scope === "Namespaced" },
          singular: one.singularResource ?? "",
          shortNames: one.shortNames ?? [],
          categories: one.categories ?? [],
          verbs: one.verbs ?? [],
          subresources: (one.subresources ?? []).map(({ subresource }) => subresource),
        });
      }
    }
  }
  return { resources, unanswered };
}

/** `APIResourceList`: one group and version of servers that know no better, subresources among the resources. */
export interface ResourceList {
  groupVersion: string;
  resources?: {
    name: string;
    kind: string;
    namespaced: boolean;
    singularName?: string;
    shortNames?: string[];
    categories?: string[];
    verbs?: string[];
  }[];
}

export function legacyResources(list: ResourceList): ApiResource[] {
  const { group, version } = parseApiVersion(list.groupVersion);
  const served = list.resources ?? [];
  return served
    .filter(({ name }) => !name.includes("/"))
    .map((one) => ({
      kind: { group, version, kind: one.kind, plural: one.name, namespaced: one.namespaced },
      singular: one.singularName ?? "",
      shortNames: one.shortNames ?? [],
      categories: one.categories ?? [],
      verbs: one.verbs ?? [],
      subresources: served
        .filter(({ name }) => name.startsWith(`${one.name}/`))
        .map(({ name }) => name.slice(one.name.length + 1)),
    }));
}
