import { createHash } from "node:crypto";
import type { ResourceTypes } from "../cluster.ts";
import type { ResourceType, Subresource } from "../kinds/resource-type.ts";
import type { BuiltInResource } from "../schema/index.ts";

/** One resource of one version, as discovery tells it: the data file's form, for custom resources too. */
type Described = BuiltInResource & {
  /** Tells what version objects are kept in; absent where none are. */
  readonly storageVersionHash?: string;
};

export interface VersionDescription {
  readonly version: string;
  readonly resources: readonly Described[];
  /** Whether this is what was last heard of it: who serves it cannot be reached. */
  readonly isStale?: boolean;
}

export interface GroupDescription {
  readonly name: string;
  /** Best first. */
  readonly versions: readonly VersionDescription[];
  /** The higher, the earlier, where it is not built in. @default custom resources' 1000 */
  readonly priority?: number;
}

/** What is served, in the forms that clients ask for it. Made anew when resources come or go. */
export class Discovery {
  readonly #types: ResourceTypes;
  readonly #builtIn: ReadonlyMap<string, BuiltInResource>;
  /** The place of each built-in group, and of each version in it: as the real server has them. */
  readonly #order: ReadonlyMap<string, number>;
  /** Groups that others serve (aggregation). */
  readonly #foreign: () => readonly GroupDescription[];
  #groups: readonly GroupDescription[] | undefined;
  readonly #texts = new Map<string, string>();

  constructor(
    types: ResourceTypes,
    all: readonly BuiltInResource[],
    foreign: () => readonly GroupDescription[] = () => [],
  ) {
    this.#types = types;
    this.#foreign = foreign;
    this.#builtIn = new Map(all.map((one) => [`${one.group}/${one.version}/${one.plural}`, one]));
    const order = new Map<string, number>();
    for (const { group } of all) if (!order.has(group)) order.set(group, order.size);
    this.#order = order;
    types.onChange(() => this.changed());
  }

  changed(): void {
    this.#groups = undefined;
    this.#texts.clear();
  }

  groups(): readonly GroupDescription[] {
    this.#groups ??= this.#describe();
    return this.#groups;
  }

  /** The text of a discovery path; undefined where there is nothing. `address`: under which the server is reached. */
  text(path: string, aggregated: string | undefined, address: string): string | undefined {
    const key = `${path} ${aggregated ?? ""} ${address}`;
    const known = this.#texts.get(key);
    if (known !== undefined) return known;
    const value = this.#value(path, aggregated, address);
    if (value === undefined) return undefined;
    const text = JSON.stringify(value);
    if (this.#texts.size < 500) this.#texts.set(key, text);
    return text;
  }

  #value(path: string, aggregated: string | undefined, address: string): unknown {
    const parts = path.split("/").filter((part) => part !== "");
    const [root, first, second] = parts;
    const groups = this.groups();
    if (root === "api") {
      const core = groups.find(({ name }) => name === "");
      if (first !== undefined) return parts.length === 2 ? resourceList("", first, core) : undefined;
      if (aggregated !== undefined) return aggregatedList(core === undefined ? [] : [core], aggregated);
      return apiVersions(core, address);
    }
    if (root !== "apis" || parts.length > 3) return undefined;
    const named = groups.filter(({ name }) => name !== "");
    if (first === undefined) {
      if (aggregated !== undefined) return aggregatedList(named, aggregated);
      return { kind: "APIGroupList", apiVersion: "v1", groups: named.map(groupOf) };
    }
    const group = named.find(({ name }) => name === first);
    if (second !== undefined) return resourceList(first, second, group);
    return group && { kind: "APIGroup", apiVersion: "v1", ...groupOf(group) };
  }

  #describe(): GroupDescription[] {
    const groups = new Map<string, Map<string, Described[]>>();
    for (const type of this.#types.list()) {
      const versions = groups.get(type.group) ?? new Map<string, Described[]>();
      groups.set(type.group, versions);
      for (const version of type.versions) {
        const builtIn = this.#builtIn.get(`${type.group}/${version}/${type.plural}`);
        const described = builtIn ?? describe(type, version);
        const hash = storageVersionHash(type, builtIn !== undefined);
        const whole = hash === undefined ? described : { ...described, storageVersionHash: hash };
        versions.set(version, [...(versions.get(version) ?? []), whole]);
      }
    }
    const own = [...groups].map(([name, versions]) => ({
      name,
      versions: [...versions]
        .sort(([a], [b]) => compareVersions(a, b))
        .map(([version, resources]) => ({
          version,
          resources: resources.toSorted((a, b) => (a.plural < b.plural ? -1 : 1)),
        })),
    }));
    const place = ({ name, priority = 1000 }: GroupDescription) => this.#order.get(name) ?? 1_000_000 - priority;
    const all = united(own, this.#foreign());
    return all.sort((a, b) => place(a) - place(b) || (a.name < b.name ? -1 : a.name > b.name ? 1 : 0));
  }
}

/** A group may have versions of ours and of others; an APIService for one of ours takes its place. */
function united(own: readonly GroupDescription[], foreign: readonly GroupDescription[]): GroupDescription[] {
  const groups = new Map(own.map((group) => [group.name, group]));
  for (const group of foreign) {
    const theirs = new Set(group.versions.map(({ version }) => version));
    const ours = groups.get(group.name)?.versions.filter(({ version }) => !theirs.has(version)) ?? [];
    const versions = [...ours, ...group.versions];
    groups.set(group.name, { ...group, versions });
  }
  return [...groups.values()];
}

const allVerbs = ["delete", "deletecollection", "get", "list", "patch", "create", "update", "watch"];

function describe(type: ResourceType, version: string): Described {
  const { group, kind, plural, singular, namespaced, shortNames, categories, verbs = allVerbs } = type;
  const subresources = Object.entries(type.subresources).map(([name, sub]) => {
    const own = kindOf(sub) ?? { group, version, kind };
    return { name, ...own, verbs: sub.verbs };
  });
  return { group, version, kind, plural, singular, namespaced, shortNames, categories, verbs, subresources };
}

/** Where Kubernetes keeps objects in an older version than it prefers, and we do not: clients are told the same. */
const olderVersions: Readonly<Record<string, string>> = {
  CustomResourceDefinition: "v1beta1",
  MutatingAdmissionPolicy: "v1beta1",
  MutatingAdmissionPolicyBinding: "v1beta1",
};

/** What clients compare, to know that objects are to be written anew: a hash of what they are kept as. */
function storageVersionHash(type: ResourceType, isBuiltIn: boolean): string | undefined {
  const { group, version, kind, storedAs, act, compute } = type;
  if (act !== undefined || compute !== undefined) return undefined;
  const as = storedAs ?? { group, version: (isBuiltIn ? olderVersions[kind] : undefined) ?? version };
  const digest = createHash("sha256").update(`${as.group}/${as.version}/${kind}`).digest();
  return digest.subarray(0, 8).toString("base64");
}

function kindOf(sub: Subresource): { group: string; version: string; kind: string } | undefined {
  return sub.type === "connect" ? undefined : sub.kind;
}

function apiVersions(core: GroupDescription | undefined, address: string): unknown {
  return {
    kind: "APIVersions",
    versions: core?.versions.map(({ version }) => version) ?? [],
    serverAddressByClientCIDRs: [{ clientCIDR: "0.0.0.0/0", serverAddress: address }],
  };
}

function groupOf({ name, versions }: GroupDescription): Record<string, unknown> {
  const list = versions.map(({ version }) => ({ groupVersion: `${name}/${version}`, version }));
  return { name, versions: list, preferredVersion: list[0] };
}

function resourceList(group: string, version: string, of: GroupDescription | undefined): unknown {
  const found = of?.versions.find((one) => one.version === version);
  if (found === undefined) return undefined;
  const groupVersion = group === "" ? version : `${group}/${version}`;
  const resources = found.resources.flatMap((resource) => [
    {
      name: resource.plural,
      singularName: resource.singular,
      namespaced: resource.namespaced,
      kind: resource.kind,
      verbs: resource.verbs,
      ...(resource.shortNames.length > 0 && { shortNames: resource.shortNames }),
      ...(resource.categories.length > 0 && { categories: resource.categories }),
      ...(resource.storageVersionHash !== undefined && { storageVersionHash: resource.storageVersionHash }),
    },
    ...resource.subresources.map((sub) => ({
      name: `${resource.plural}/${sub.name}`,
      singularName: "",
      namespaced: resource.namespaced,
      ...((sub.group !== group || sub.version !== version) && { group: sub.group, version: sub.version }),
      kind: sub.kind,
      verbs: sub.verbs,
    })),
  ]);
  return { kind: "APIResourceList", apiVersion: "v1", groupVersion, resources };
}

function aggregatedList(groups: readonly GroupDescription[], version: string): unknown {
  const items = groups.map(({ name, versions }) => ({
    metadata: { ...(name !== "" && { name }), creationTimestamp: null },
    versions: versions.map((one) => ({
      version: one.version,
      resources: one.resources.map((resource) => ({
        resource: resource.plural,
        responseKind: { group: resource.group, version: resource.version, kind: resource.kind },
        scope: resource.namespaced ? "Namespaced" : "Cluster",
        singularResource: resource.singular,
        verbs: resource.verbs,
        ...(resource.shortNames.length > 0 && { shortNames: resource.shortNames }),
        ...(resource.categories.length > 0 && { categories: resource.categories }),
        ...(resource.subresources.length > 0 && {
          subresources: resource.subresources.map((sub) => ({
            subresource: sub.name,
            responseKind: { group: sub.group, version: sub.version, kind: sub.kind },
            verbs: sub.verbs,
          })),
        }),
      })),
      freshness: one.isStale ? "Stale" : "Current",
    })),
  }));
  return { kind: "APIGroupDiscoveryList", apiVersion: `apidiscovery.k8s.io/${version}`, metadata: {}, items };
}

/** Kubernetes' order: v2, v1, v1beta1, v1alpha1, then everything else by name. */
export function compareVersions(a: string, b: string): number {
  const left = rank(a);
  const right = rank(b);
  for (const [index, one] of left.entries()) {
    const other = right[index] ?? 0;
    if (one !== other) return other - one;
  }
  return a < b ? -1 : a > b ? 1 : 0;
}

function rank(version: string): number[] {
  const match = /^v(\d+)(?:(alpha|beta)(\d+))?$/.exec(version);
  if (match === null) return [0, 0, 0];
  const [, major, stage, minor] = match;
  return [stage === undefined ? 3 : stage === "beta" ? 2 : 1, Number(major), Number(minor ?? 0)];
}
