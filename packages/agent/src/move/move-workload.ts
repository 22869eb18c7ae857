import { Site } from "@fjord/api";
import type { Kind } from "@fjord/base";
import {
  type DaemonSet,
  type Deployment,
  isConflict,
  isForbidden,
  type KubeClient,
  Node,
  Pod,
  type StatefulSet,
} from "@fjord/kube";
import { obstaclesAt } from "./obstacles.ts";
import { passingObstacle } from "./passing-obstacle.ts";
import { namespacesOf } from "./pod-term-obstacles.ts";
import { affinityFor, type Place } from "./site-affinity.ts";
import { homeObstacle, wayObstacle } from "./way-obstacle.ts";

/** What makes new pods of a changed template, one after the other. */
export type Movable = Deployment | StatefulSet | DaemonSet;

export interface Move<T extends Movable> {
  readonly kind: Kind<T>;
  readonly key: { readonly namespace: string; readonly name: string };
  readonly place: Place;
  /** The place's name for people. */
  readonly called: string;
  /** The error for a move that something stands in the way of; `passing`: it may be gone later, by itself. */
  readonly refusal: (reason: string, passing: boolean) => Error;
  /** Whatever passing obstacle there is now: new pods wait for its end. */
  readonly force?: boolean;
  /** Who does it, in the object's managed fields. */
  readonly fieldManager?: string;
}

/** Others write to a workload all the time, its status for one. */
const MOST_ATTEMPTS = 5;

/**
 * Has the pods of a workload run at one place. Where they could not land there, nothing is changed: new pods would wait for
 * ever, and the rollout with them.
 */
export async function moveWorkload<T extends Movable>(
  client: KubeClient,
  move: Move<T>,
  signal: AbortSignal,
): Promise<void> {
  const { kind, key, place, refusal, force = false, fieldManager } = move;
  for (let attempt = 1; ; attempt++) {
    const workload = await client.get(kind, key, { signal });
    const reason = await obstacleTo(client, move, workload, signal);
    if (reason !== undefined) throw refusal(reason, false);
    const now = force ? undefined : await obstacleNow(client, move, signal);
    if (now !== undefined) throw refusal(now, true);
    try {
      await client.patch(kind, key, "merge", movePatch(workload, place), {
        signal,
        ...(fieldManager && { fieldManager }),
      });
      return;
    } catch (error) {
      if (!isConflict(error) || attempt === MOST_ATTEMPTS) throw error;
    }
  }
}

async function obstacleTo<T extends Movable>(
  client: KubeClient,
  { key: { namespace }, place, called }: Move<T>,
  workload: T,
  signal: AbortSignal,
): Promise<string | undefined> {
  if (place === "anywhere") return undefined;
  const way = async () =>
    place === "home"
      ? await homeObstacle(client, namespace, signal)
      : await wayObstacle(client, { namespace, site: place.site, called }, signal);
  return (
    (await asFarAsMay(way)) ??
    (await asFarAsMay(() => wishObstacle(client, workload, { namespace, place, called }, signal)))
  );
}

async function obstacleNow<T extends Movable>(
  client: KubeClient,
  { place, called }: Move<T>,
  signal: AbortSignal,
): Promise<string | undefined> {
  if (place === "anywhere") return undefined;
  const options = { signal, omitManagedFields: true };
  return await asFarAsMay(async () => {
    const [nodes, sites] = await Promise.all([client.list(Node, options), client.list(Site, options)]);
    return passingObstacle(place, called, { nodes: nodes.items, sites: sites.items });
  });
}

/** Whoever may not look at nodes or contracts may move all the same: then the scheduler says what stands in the way. */
async function asFarAsMay(look: () => Promise<string | undefined>): Promise<string | undefined> {
  try {
    return await look();
  } catch (error) {
    if (isForbidden(error)) return undefined;
    throw error;
  }
}

/** What its owner has asked for otherwise stays as it is, so it must not be against the move. */
async function wishObstacle(
  client: KubeClient,
  { spec }: Movable,
  to: { readonly namespace: string; readonly place: Exclude<Place, "anywhere">; readonly called: string },
  signal: AbortSignal,
): Promise<string | undefined> {
  if (spec === undefined) return undefined;
  const { namespace, place, called } = to;
  const { template } = spec;
  // One for each node, wherever those are.
  const replicas = "replicas" in spec ? (spec.replicas ?? 1) : 1;
  const { items: nodes } = await client.list(Node, { signal, omitManagedFields: true });
  const namespaces = namespacesOf(template, namespace);
  const lists = namespaces.map((each) => client.list(Pod, { namespace: each, signal, omitManagedFields: true }));
  const pods = (await Promise.all(lists)).flatMap(({ items }) => items);
  const reasons = obstaclesAt(place, called, { template, namespace, replicas, nodes, pods });
  return reasons.length > 0 ? reasons.join("; ") : undefined;
}

/** The version makes sure that it is still the workload that was looked at. */
function movePatch({ metadata, spec }: Movable, place: Place): object {
  const affinity = affinityFor(place, spec?.template.spec?.affinity);
  // A merge patch leaves what it does not name: what is to go must be said to be nothing.
  const node = affinity?.nodeAffinity;
  const required = node?.requiredDuringSchedulingIgnoredDuringExecution ?? null;
  const nodeAffinity = node === undefined ? null : { requiredDuringSchedulingIgnoredDuringExecution: required };
  return {
    metadata: { resourceVersion: metadata.resourceVersion },
    spec: { template: { spec: { affinity: affinity === undefined ? null : { nodeAffinity } } } },
  };
}
