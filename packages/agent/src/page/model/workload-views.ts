import type { Offloading } from "@fjord/api";
import type { KnownSites } from "./known-sites.ts";
import type { PodFacts } from "./pod-facts.ts";
import type { Health, Path, PlaceView, SiteView, WorkloadView } from "./snapshot.ts";
import type { Workload } from "./world.ts";

export interface WorkloadsInput {
  readonly workloads: readonly Workload[];
  readonly offloadings: readonly Offloading[];
  readonly pods: readonly PodFacts[];
  readonly sites: Readonly<Record<string, SiteView>>;
  readonly known: KnownSites;
}

/** Everything that has pods or wants some, with its pods counted by place. */
export function workloadViews(input: WorkloadsInput): Record<string, WorkloadView> {
  const { workloads, offloadings, pods } = input;
  const byWorkload = Map.groupBy(pods, ({ workload }) => workload);
  const objects = new Map(workloads.map((object) => [keyOf(object), object]));
  const offloaded = new Map(offloadings.map(({ metadata, spec }) => [metadata.namespace ?? "", spec.pods]));
  const views: Record<string, WorkloadView> = {};
  for (const key of new Set([...objects.keys(), ...byWorkload.keys()])) {
    const object = objects.get(key);
    const [namespace = "", kind = "", name = ""] = key.split("/");
    const view = workloadView({ namespace, kind, name }, object, byWorkload.get(key) ?? [], input);
    const where = offloaded.get(namespace);
    views[key] = where === undefined ? view : { ...view, offloaded: where };
  }
  return views;
}

export function keyOf({ kind, metadata }: Workload): string {
  return `${metadata.namespace}/${kind}/${metadata.name}`;
}

export function pathOf(pod: PodFacts, known: KnownSites): Path {
  if (pod.node === undefined) return "pending";
  if (pod.consumer !== undefined) return "guest";
  return known.isVirtual(pod.node) ? "shadow" : "native";
}

function workloadView(
  names: Pick<WorkloadView, "namespace" | "kind" | "name">,
  object: Workload | undefined,
  all: readonly PodFacts[],
  { sites, known }: WorkloadsInput,
): WorkloadView {
  const pods = all.filter(({ ended }) => !ended);
  const places = placesOf(pods, known, (site) => sites[site]?.health === "lost");
  const ready = places.reduce((sum, place) => sum + place.ready, 0);
  const desired = desiredBy(object, all);
  const consumer = all[0]?.consumer;
  const lost = places.filter(({ site }) => sites[site]?.health === "lost" && site !== "");
  const problem = problemOf(pods, lost, ready < desired);
  const image = object?.spec?.template?.spec?.containers?.[0]?.image;
  return {
    ...names,
    desired,
    pods: pods.length,
    ready,
    restarts: pods.reduce((sum, pod) => sum + pod.restarts, 0),
    health: healthOf({ desired, ready, problem, lost: lost.length > 0 }),
    problem,
    places,
    ...(consumer !== undefined && { guestOf: known.nameOf(consumer) }),
    ...(object?.metadata.creationTimestamp !== undefined && { since: object.metadata.creationTimestamp }),
    ...(image !== undefined && { image }),
  };
}

/** What a pod last said of itself says nothing while its site does not answer. */
function placesOf(pods: readonly PodFacts[], known: KnownSites, isLost: (site: string) => boolean): PlaceView[] {
  const places = new Map<string, PlaceView>();
  for (const pod of pods) {
    const path = pathOf(pod, known);
    const site = path === "pending" ? "" : known.siteOfNode(pod.node);
    const before = places.get(`${site}/${path}`) ?? { site, path, pods: 0, ready: 0 };
    places.set(`${site}/${path}`, {
      ...before,
      pods: before.pods + 1,
      ready: before.ready + (pod.ready && !isLost(site) ? 1 : 0),
    });
  }
  return [...places.values()].sort((a, b) => b.pods - a.pods || a.site.localeCompare(b.site));
}

/** Where nothing says how many there should be, as many as there are. */
function desiredBy(object: Workload | undefined, pods: readonly PodFacts[]): number {
  const live = pods.filter(({ ended }) => !ended).length;
  if (object === undefined) return live;
  if (object.kind === "DaemonSet") return object.status?.desiredNumberScheduled ?? live;
  if (object.kind === "Job") return object.status?.active ?? live;
  return object.spec?.replicas ?? 1;
}

function problemOf(pods: readonly PodFacts[], lost: readonly PlaceView[], short: boolean): string {
  if (!short) return "";
  const away = lost.map(({ site, pods: count }) => `${count} of its pods ${count === 1 ? "is" : "are"} at ${site}`);
  if (away.length > 0) return `${away.join(", ")}, which does not answer`;
  return pods.find(({ problem }) => problem !== "")?.problem ?? "";
}

function healthOf(state: { desired: number; ready: number; problem: string; lost: boolean }): Health {
  // What was replaced elsewhere lacks nothing, though its old pods end only when their site answers again.
  if (state.ready >= state.desired) return "well";
  if (state.lost) return "lost";
  return state.problem === "" ? "waiting" : "faulty";
}
