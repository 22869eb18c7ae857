import { describeError } from "@fjord/base";
import type { KubeClient } from "../client/client.ts";
import {
  type AggregatedList,
  type ApiResource,
  type ApiSurface,
  aggregatedSurface,
  legacyResources,
  type ResourceList,
  type Unanswered,
} from "./api-resource.ts";

type Client = Pick<KubeClient, "raw">;

interface VersionList {
  kind: "APIVersions";
  versions?: string[];
}

interface GroupList {
  kind: "APIGroupList";
  groups?: { versions: { groupVersion: string }[]; preferredVersion?: { groupVersion: string } }[];
}

// Servers pick the first that they know; the last is understood by all.
const accept = ["v2", "v2beta1"]
  .map((version) => `application/json;g=apidiscovery.k8s.io;v=${version};as=APIGroupDiscoveryList`)
  .concat("application/json")
  .join(",");

const PARALLEL = 8;

/** Asks a server for all it serves: two requests where it can, one per group and version where it is older. */
export async function fetchSurface(client: Client): Promise<ApiSurface> {
  const [core, groups] = await Promise.all([
    getJson<AggregatedList | VersionList>(client, "/api"),
    getJson<AggregatedList | GroupList>(client, "/apis"),
  ]);
  const surfaces = await Promise.all([
    core.kind === "APIGroupDiscoveryList" ? aggregatedSurface(core) : legacySurface(client, corePaths(core)),
    groups.kind === "APIGroupDiscoveryList" ? aggregatedSurface(groups) : legacySurface(client, groupPaths(groups)),
  ]);
  return {
    resources: surfaces.flatMap(({ resources }) => resources),
    unanswered: surfaces.flatMap(({ unanswered }) => unanswered),
  };
}

/** One group that fails, as an aggregated API does whose server is down, does not spoil the others. */
async function legacySurface(client: Client, paths: string[]): Promise<ApiSurface> {
  const resources: ApiResource[][] = new Array(paths.length).fill([]);
  const unanswered: Unanswered[] = [];
  const queue = paths.entries();
  const work = async () => {
    for (const [index, path] of queue) {
      try {
        resources[index] = legacyResources(await getJson<ResourceList>(client, path));
      } catch (error) {
        unanswered.push({ groupVersion: path.replace(/^\/apis?\//, ""), reason: describeError(error) });
      }
    }
  };
  await Promise.all(Array.from({ length: PARALLEL }, work));
  return { resources: resources.flat(), unanswered };
}

function corePaths(list: VersionList): string[] {
  return (list.versions ?? []).map((version) => `/api/${version}`);
}

function groupPaths(list: GroupList): string[] {
  return (list.groups ?? []).flatMap(({ versions, preferredVersion }) => {
    const preferred = preferredVersion?.groupVersion;
    const names = versions.map(({ groupVersion }) => groupVersion);
    return [...names.filter((name) => name === preferred), ...names.filter((name) => name !== preferred)].map(
      (name) => `/apis/${name}`,
    );
  });
}

async function getJson<T>(client: Client, path: string): Promise<T> {
  const { body } = await client.raw("GET", path, { headers: { accept } });
  return JSON.parse(body.toString("utf8")) as T;
}
