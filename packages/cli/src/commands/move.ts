import { moveWorkload, type Place } from "@fjord/agent/move";
import type { Kind } from "@fjord/base";
import { Deployment, type KubeClient, type Pod, type StatefulSet } from "@fjord/kube";
import type { Command } from "commander";
import { type ClusterFlags, clusterOptions, connect } from "../command-line/cluster-options.ts";
import type { CommandContext } from "../command-line/command-context.ts";
import { parseDuration } from "../command-line/durations.ts";
import { didYouMean } from "../command-line/suggestion.ts";
import { type Progress, waitFor } from "../command-line/wait-for.ts";
import { CannotMove, NoSuchThing } from "../errors.ts";
import {
  idOf,
  type KnownPlaces,
  knownPlaces,
  ownSiteIn,
  siteById,
  siteNameOfNode,
  siteOfNode,
} from "../place/known-places.ts";
import { getOrSuggest, podsOf } from "../place/workload-pods.ts";
import { workloadReference } from "../place/workload-reference.ts";

interface MoveFlags extends ClusterFlags {
  readonly namespace?: string;
  readonly wait: boolean;
  readonly timeout: string;
}

/** What has replicas and makes new ones of a changed template, one after the other. */
type Rolling = Deployment | StatefulSet;

const MOVABLE = ["Deployment", "StatefulSet"];

export function addMove(program: Command, context: CommandContext): void {
  const command = program
    .command("move")
    .description("have a workload run at one site; new pods are ready there before old ones end")
    .argument("<workload>", "a Deployment or StatefulSet, as deployment/web; a name alone is a Deployment's")
    .argument("<site>", "where to: a site, `home`, or `anywhere` for wherever the scheduler likes");
  clusterOptions(command)
    .option("-n, --namespace <name>", "namespace (default: the context's)")
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
  const refusal = (reason: string) => new CannotMove({ what, place: to, reason });
  await moveWorkload(client, { kind, key, place, called: to, refusal }, signal);
  if (flags.wait) {
    const late = `${what} was not at ${to}`;
    await waitFor(client, kind, key, rollout, { signal, timeoutMs, what: late, told: (line) => note(`${line}\n`) });
    await waitForPods(client, key, reference, places, place, { timeoutMs, signal, what: late, note });
  }
  print(`${what} ${place === "anywhere" ? "may run anywhere" : `moved to ${to}`}\n`);
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

/** As `kubectl rollout status` sees it. */
function rollout(found: Rolling | undefined): Progress {
  if (found === undefined) return { done: false, progress: "it was deleted", refused: true };
  const { spec, status, metadata } = found;
  const wanted = spec?.replicas ?? 1;
  if ((status?.observedGeneration ?? 0) < (metadata.generation ?? 0))
    return { done: false, progress: "waiting for the controller" };
  const updated = status?.updatedReplicas ?? 0;
  const ready = (status as { readyReplicas?: number } | undefined)?.readyReplicas ?? 0;
  const all = status?.replicas ?? 0;
  if (updated >= wanted && ready >= wanted && all <= wanted) return { done: true };
  return { done: false, progress: `${Math.min(updated, ready)} of ${wanted} pods are ready` };
}

async function waitForPods(
  client: KubeClient,
  key: { readonly name: string; readonly namespace: string },
  reference: Parameters<typeof podsOf>[1],
  places: KnownPlaces,
  place: Place,
  { signal, note }: { timeoutMs: number; signal: AbortSignal; what: string; note: (text: string) => void },
): Promise<void> {
  if (place === "anywhere") return;
  const pods: Pod[] = await podsOf(client, reference, key.namespace, signal);
  const wanted = place === "home" ? ownSiteIn(places) : siteById(places, place.site);
  const elsewhere = pods.filter(
    ({ metadata, spec }) => metadata.deletionTimestamp === undefined && siteOfNode(places, spec?.nodeName) !== wanted,
  );
  for (const { metadata, spec } of elsewhere)
    note(`${metadata.name} is still at ${siteNameOfNode(places, spec?.nodeName)}\n`);
}
