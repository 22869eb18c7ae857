import { moveWorkload, type Place } from "@fjord/agent/move";
import type { Kind } from "@fjord/base";
import { didYouMean } from "@fjord/base";
import { Deployment, isConflict, isForbidden, isNotFound, type KubeClient, Pod, ReplicaSet } from "@fjord/kube";
import type { Command } from "commander";
import { type ClusterFlags, clusterOptions, connect } from "../command-line/cluster-options.ts";
import type { CommandContext } from "../command-line/command-context.ts";
import { parseDuration } from "../command-line/durations.ts";
import { type Progress, waitFor } from "../command-line/wait-for.ts";
import { CannotMove, MoveUnfinished, NoSuchThing, PlaceNotReady } from "../errors.ts";
import { idOf, type KnownPlaces, knownPlaces, ownSiteIn } from "../place/known-places.ts";
import { isObserved, isRolledOut, type Rolling, rolloutProgress } from "../place/rollout.ts";
import { stuckPods } from "../place/stuck-pods.ts";
import { getOrSuggest, podsOf } from "../place/workload-pods.ts";
import { type WorkloadReference, workloadReference } from "../place/workload-reference.ts";

interface MoveFlags extends ClusterFlags {
  readonly namespace?: string;
  readonly force: boolean;
  readonly wait: boolean;
  readonly timeout: string;
}

const MOVABLE = ["Deployment", "StatefulSet"];

export function addMove(program: Command, context: CommandContext): void {
  const command = program
    .command("move")
    .description("have a workload run at one site; new pods are ready there before old ones end")
    .argument("<workload>", "a Deployment or StatefulSet, as deployment/web; a name alone is a Deployment's")
    .argument("<site>", "where to: a site, `home`, or `anywhere` for wherever the scheduler likes");
  clusterOptions(command)
    .option("-n, --namespace <name>", "namespace (default: the context's)")
    .option("--force", "also to a site that does not answer or takes no pods now: new ones wait for it", false)
    .option("--no-wait", "return without waiting for the new pods")
    .option("--timeout <duration>", "how long to wait", "120s")
    .action((workload: string, to: string, flags: MoveFlags) => move(workload, to, flags, context));
}

async function move(target: string, to: string, flags: MoveFlags, context: CommandContext): Promise<void> {
  const { signal, print, note } = context;
  const timeoutMs = parseDuration("--timeout", flags.timeout);
  const reference = workloadReference([target], Deployment as never);
  const what = `${reference.kind.kind.toLowerCase()}/${reference.name}`;
  if (!MOVABLE.includes(reference.kind.kind))
    throw new CannotMove({ what, place: to, reason: `only a ${MOVABLE.join(" or a ")} makes its pods anew elsewhere` });
  await using client = await connect(flags, context);
  const namespace = flags.namespace ?? client.namespace;
  const key = { name: reference.name, namespace };
  const kind = reference.kind as unknown as Kind<Rolling>;
  await getOrSuggest(client, kind, key, signal);
  const places = await knownPlaces(client, signal);
  const place = placeCalled(to, places, what);
  const { force } = flags;
  const refusal = (reason: string, passing = false) =>
    passing ? new PlaceNotReady({ what, place: to, reason }) : new CannotMove({ what, place: to, reason });
  await moveWorkload(client, { kind, key, place, called: to, refusal, force }, signal);
  if (flags.wait)
    await waitFor(client, kind, key, (found, until) => look(client, found, reference, namespace, until), {
      signal,
      timeoutMs,
      what: `${what} was not at ${to}`,
      told: (line) => note(`${line}\n`),
      late: (seconds, last) =>
        new MoveUnfinished({
          what,
          place: place === "anywhere" ? "a place of the scheduler's choice" : to,
          seconds,
          last,
        }),
      refusal,
    });
  print(`${what} ${place === "anywhere" ? "may run anywhere" : `moved to ${to}`}\n`);
}

async function look(
  client: KubeClient,
  found: Rolling | undefined,
  reference: WorkloadReference,
  namespace: string,
  signal: AbortSignal,
): Promise<Progress> {
  if (found === undefined) return { done: false, progress: "it was deleted meanwhile", refused: true };
  if (!isObserved(found)) return { done: false, progress: "waiting for the controller" };
  if (isRolledOut(found)) return { done: true };
  const [pods, { items: sets }] = await Promise.all([
    podsOf(client, reference, namespace, signal),
    client.list(ReplicaSet, { namespace, signal, omitManagedFields: true }),
  ]);
  const held = await replaced(client, stuckPods(found, pods), signal);
  const progress = rolloutProgress(found, sets, pods);
  if (held.length === 0) return { done: false, progress };
  return { done: false, progress: `${progress}; held up by ${held.join(", ")}, which you may not delete` };
}

/** Ends pods that hold up a rollout, for which new ones are made at once. Those that the caller may not delete are returned. */
async function replaced(client: KubeClient, pods: readonly Pod[], signal: AbortSignal): Promise<string[]> {
  const ends = pods.map(async ({ metadata: { name = "", namespace = "", uid = "" } }) => {
    try {
      await client.delete(Pod, { name, namespace }, { preconditions: { uid }, signal });
    } catch (error) {
      if (isForbidden(error)) return [`pod ${name}`];
      if (!isNotFound(error) && !isConflict(error)) throw error;
    }
    return [];
  });
  return (await Promise.all(ends)).flat();
}

function placeCalled(to: string, places: KnownPlaces, what: string): Place {
  if (to === "home" || to === "anywhere") return to;
  const site = places.sites.find(({ metadata }) => metadata.name === to);
  if (site === undefined) {
    const names = places.sites.map(({ metadata }) => metadata.name ?? "");
    throw new NoSuchThing({ what: "site", name: to, hint: didYouMean(to, names) });
  }
  if (site === ownSiteIn(places)) return "home";
  const id = idOf(site);
  if (id === undefined) throw new CannotMove({ what, place: to, reason: "the site has not proven its id yet" });
  return { site: id };
}
