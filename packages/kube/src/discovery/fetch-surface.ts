import { describeError } from "@fjord/base";
import type { KubeClient } from "../client/client.ts";
import { type Answer, getAnswer, isPathPart, objectOf, objectsOf, textOf, textsOf } from "./answer.ts";
import {
  type ApiResource,
  type ApiSurface,
  aggregatedSurface,
  legacyResources,
  type Unanswered,
} from "./api-resource.ts";

type Client = Pick<KubeClient, "raw" | "transport">;

// Servers pick the first that they know; the last is understood by all.
const accept = ["v2", "v2beta1"]
  .map((version) => `application/json;g=apidiscovery.k8s.io;v=${version};as=APIGroupDiscoveryList`)
  .concat("application/json")
  .join(",");

const PARALLEL = 8;

/** Asks a server for all it serves: two requests where it can, one per group and version where it is older. */
export async function fetchSurface(client: Client): Promise<ApiSurface> {
  const [core, groups] = await Promise.all([
    getAnswer(client, "/api", { accept }),
    getAnswer(client, "/apis", { accept }),
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
        resources[index] = legacyResources(await getAnswer(client, path, { accept }));
      } catch (error) {
        unanswered.push({ groupVersion: path.replace(/^\/apis?\//, ""), reason: describeError(error) });
      }
    }
  };
  await Promise.all(Array.from({ length: PARALLEL }, work));
  return { resources: resources.flat(), unanswered };
}

function corePaths(list: Answer): string[] {
  return textsOf(list.versions)
    .filter(isPathPart)
    .map((version) => `/api/${version}`);
}

function groupPaths(list: Answer): string[] {
  return objectsOf(list.groups).flatMap(({ versions, preferredVersion }) => {
    const preferred = objectOf(preferredVersion).groupVersion;
    const names = objectsOf(versions)
      .map(({ groupVersion }) => textOf(groupVersion))
      .filter((name) => name.split("/").length === 2 && name.split("/").every(isPathPart));
    return [...names.filter((name) => name === preferred), ...names.filter((name) => name !== preferred)].map(
      (name) => `/apis/${name}`,
    );
  });
}
