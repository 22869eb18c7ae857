import type { KubeObject } from "@fjord/base";
import type { GroupDescription } from "../server/index.ts";
import { type ApiService, isAvailable } from "./api-service.ts";

interface Told {
  readonly service: ApiService;
  /** APIResourceList. */
  readonly resources?: KubeObject;
}

interface ToldResource {
  readonly name: string;
  readonly singularName?: string;
  readonly namespaced?: boolean;
  readonly group?: string;
  readonly version?: string;
  readonly kind: string;
  readonly verbs?: readonly string[];
  readonly shortNames?: readonly string[];
  readonly categories?: readonly string[];
}

type Version = GroupDescription["versions"][number];

/** What other servers serve, in the form of our own discovery: groups and their versions by priority. */
export function groupsOf(remotes: readonly Told[]): GroupDescription[] {
  const byVersion = remotes.toSorted((a, b) => b.service.spec.versionPriority - a.service.spec.versionPriority);
  const groups = new Map<string, { versions: Version[]; priority: number }>();
  for (const remote of byVersion) {
    const { group = "", version = "", groupPriorityMinimum } = remote.service.spec;
    const known = groups.get(group) ?? { versions: [], priority: 0 };
    known.priority = Math.max(known.priority, groupPriorityMinimum);
    known.versions.push({
      version,
      resources: resourcesOf(remote, { group, version }),
      ...(!isAvailable(remote.service) && { isStale: true }),
    });
    groups.set(group, known);
  }
  return [...groups].map(([name, { versions, priority }]) => ({ name, versions, priority }));
}

function resourcesOf({ resources }: Told, of: { group: string; version: string }): Version["resources"] {
  const { resources: told } = (resources ?? {}) as unknown as { resources?: readonly ToldResource[] };
  const all = Array.isArray(told) ? told.slice(0, MOST_RESOURCES).flatMap(readResource) : [];
  const below = Map.groupBy(
    all.filter(({ name }) => name.includes("/")),
    ({ name }) => name.slice(0, name.indexOf("/")),
  );
  const kindOf = ({ group = of.group, version = of.version, kind }: ToldResource) => ({ group, version, kind });
  return all
    .filter(({ name }) => !name.includes("/"))
    .map((one) => ({
      ...of,
      kind: one.kind,
      plural: one.name,
      singular: one.singularName ?? "",
      namespaced: one.namespaced ?? false,
      shortNames: one.shortNames ?? [],
      categories: one.categories ?? [],
      verbs: one.verbs ?? [],
      subresources: (below.get(one.name) ?? []).map((sub) => ({
        name: sub.name.slice(one.name.length + 1),
        ...kindOf(sub),
        verbs: sub.verbs ?? [],
      })),
    }));
}

/** More than any group has; who says so many means harm. */
const MOST_RESOURCES = 1_000;

const isText = (value: unknown): value is string => typeof value === "string";
const textsOf = (value: unknown): string[] => (Array.isArray(value) ? value.filter(isText) : []);

/** What another server says may be anything: only what has its form is taken. */
function readResource(told: unknown): ToldResource[] {
  const { name, kind, singularName, namespaced, group, version, verbs, shortNames, categories } = (told ??
    {}) as Record<string, unknown>;
  if (!isText(name) || !isText(kind) || name === "" || kind === "") return [];
  return [
    {
      name,
      kind,
      ...(isText(singularName) && { singularName }),
      namespaced: namespaced === true,
      ...(isText(group) && group !== "" && { group }),
      ...(isText(version) && version !== "" && { version }),
      verbs: textsOf(verbs),
      shortNames: textsOf(shortNames),
      categories: textsOf(categories),
    },
  ];
}
