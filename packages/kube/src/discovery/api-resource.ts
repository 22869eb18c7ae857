import { apiVersionOf, type Kind } from "@fjord/base";
import { parseApiVersion } from "../kinds/typed.ts";
import { type Answer, isPathPart, objectOf, objectsOf, textOf, textsOf } from "./answer.ts";

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

/** Reads an `APIGroupDiscoveryList` of apidiscovery.k8s.io: everything in one answer. What makes no sense is left out. */
export function aggregatedSurface(list: Answer): ApiSurface {
  const resources: ApiResource[] = [];
  const unanswered: Unanswered[] = [];
  for (const item of objectsOf(list.items)) {
    const group = textOf(objectOf(item.metadata).name);
    if (group !== "" && !isPathPart(group)) continue;
    for (const served of objectsOf(item.versions)) {
      const version = textOf(served.version);
      if (!isPathPart(version)) continue;
      // So it calls one whose server was out of reach when the answer was made.
      if (served.freshness === "Stale") {
        const groupVersion = apiVersionOf({ group, version });
        unanswered.push({ groupVersion, reason: "the server calls what it knows of it stale" });
      }
      for (const one of objectsOf(served.resources)) {
        const kind = textOf(objectOf(one.responseKind).kind);
        const plural = textOf(one.resource);
        // Without a kind: a parent of subresources only, with no objects of its own.
        if (kind === "" || !isPathPart(plural)) continue;
        resources.push({
          kind: { group, version, kind, plural, namespaced: one.scope === "Namespaced" },
          ...namesOf(one, textOf(one.singularResource)),
          subresources: objectsOf(one.subresources)
            .map(({ subresource }) => textOf(subresource))
            .filter(isPathPart),
        });
      }
    }
  }
  return { resources, unanswered };
}

/** Reads an `APIResourceList`: one group and version of servers that know no better, subresources among the resources. */
export function legacyResources(list: Answer): ApiResource[] {
  const { group, version } = parseApiVersion(textOf(list.groupVersion));
  if ((group !== "" && !isPathPart(group)) || !isPathPart(version)) return [];
  const served = objectsOf(list.resources).map((one) => ({ ...one, name: textOf(one.name), kind: textOf(one.kind) }));
  return served
    .filter(({ name, kind }) => isPathPart(name) && kind !== "")
    .map((one: Answer & { name: string; kind: string }) => ({
      kind: { group, version, kind: one.kind, plural: one.name, namespaced: one.namespaced === true },
      ...namesOf(one, textOf(one.singularName)),
      subresources: served
        .filter(({ name }) => name.startsWith(`${one.name}/`))
        .map(({ name }) => name.slice(one.name.length + 1)),
    }));
}

function namesOf(one: Answer, singular: string): Omit<ApiResource, "kind" | "subresources"> {
  return {
    singular,
    shortNames: textsOf(one.shortNames),
    categories: textsOf(one.categories),
    verbs: textsOf(one.verbs),
  };
}
