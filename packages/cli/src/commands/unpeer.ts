import { Contract, FORCE_REMOVE_ANNOTATION, Peering, Site } from "@fjord/api";
import type { Kind, KubeObject } from "@fjord/base";
import { didYouMean } from "@fjord/base";
import { getCondition, isNotFound, type KubeClient } from "@fjord/kube";
import type { Command } from "commander";
import { type ClusterFlags, clusterOptions, connect } from "../command-line/cluster-options.ts";
import type { CommandContext } from "../command-line/command-context.ts";
import { parseDuration } from "../command-line/durations.ts";
import { listOrExplain } from "../command-line/list-or-explain.ts";
import { waitFor } from "../command-line/wait-for.ts";
import { ConsumersContract, NoSuchThing, SiteInUse, StillEnding, ThisSite } from "../errors.ts";
import { tellOfSilence } from "../place/agent-silence.ts";
import { refuseToLoseData } from "../place/claims-elsewhere.ts";
import { warnOfMoved } from "../place/moved-workloads.ts";
import { endsTheLast, otherTies, usedBy } from "../place/site-ties.ts";

interface UnpeerFlags extends ClusterFlags {
  readonly force: boolean;
  readonly forget: boolean;
  readonly discardData: boolean;
  readonly ignoreNotFound: boolean;
  readonly wait: boolean;
  readonly timeout: string;
}

export function addUnpeer(program: Command, context: CommandContext): void {
  const command = program
    .command("unpeer")
    .description("end a peering: its pods, its virtual node and its contract go, on both sides")
    .argument("<name>", "a peering, or a site: then all peerings with it");
  clusterOptions(command)
    .option("--force", "the other side is gone for good: wait for nothing there, and forget the site (--forget)", false)
    .option("--forget", "forget the site too: it is no longer trusted, and nothing else may be left with it", false)
    .option("--discard-data", "though claims of this site have volumes there: they are deleted", false)
    .option("--ignore-not-found", "end with 0 where there is no such peering or site, as one that was forgotten", false)
    .option("--no-wait", "return without waiting for the end")
    .option("--timeout <duration>", "how long to wait", "120s")
    .action((name: string, flags: UnpeerFlags) => unpeer(name, flags, context));
}

async function unpeer(name: string, flags: UnpeerFlags, context: CommandContext): Promise<void> {
  const { signal, print } = context;
  const timeoutMs = parseDuration("--timeout", flags.timeout);
  await using client = await connect(flags, context);
  await tellOfSilence(client, context);
  const all = await listOrExplain(client, Peering, signal);
  const peerings = all.filter(({ metadata, spec }) => metadata.name === name || spec.site === name);
  const sites = await listOrExplain(client, Site, signal);
  const own = sites.find(({ status }) => status?.role === "Self");
  // A peering may be called as this site is, which can have none with itself.
  const isSite = sites.some(({ metadata }) => metadata.name === name) && (own?.metadata.name !== name || !peerings[0]);
  const site = isSite ? name : (peerings[0]?.spec.site ?? name);
  if (own?.metadata.name === site) {
    const what = flags.force || flags.forget ? "be forgotten" : "have a peering with itself";
    throw new ThisSite({ name: site, what });
  }
  const known = sites.find(({ metadata }) => metadata.name === site);
  // Who names the site means all that there is with it; who names one peering may not know of the rest.
  const isForgotten = flags.force || flags.forget;
  if (isForgotten && name !== site && known !== undefined) {
    const ties = otherTies(known, peerings, all, await listOrExplain(client, Contract, signal));
    if (ties !== undefined) throw new SiteInUse({ site, peering: name, ties });
  }
  // Who says that it is gone for good knows that this is, too.
  if (endsTheLast(site, peerings, all) && known !== undefined && !flags.force && !flags.discardData)
    await refuseToLoseData(client, [known], { signal });
  // All that is wanted is written before anything is waited for: it stands whenever this ends.
  await Promise.all(peerings.map(({ metadata }) => asked(client, Peering, metadata.name ?? "", flags, signal)));
  const isLeaving = isForgotten && known !== undefined && (await asked(client, Site, site, flags, signal));
  const ends = peerings.map(async ({ metadata: { name: peering = "" } }) => {
    await gone(client, Peering, peering, { ...flags, timeoutMs }, context, progressOf);
    print(`peering ${peering} ${flags.wait ? "ended" : "is ending"}\n`);
  });
  // One that does not end is told of once the others have.
  const failed = (await Promise.allSettled(ends)).find((end) => end.status === "rejected");
  if (failed !== undefined) throw failed.reason;
  const isLast = peerings.length > 0 && all.every((each) => each.spec.site !== site || peerings.includes(each));
  if (isLast) await warnOfMoved(client, { sites }, context, { site });
  if (peerings.length === 0 && known === undefined) {
    const hint = didYouMean(
      name,
      [...all, ...sites].map(({ metadata }) => metadata.name ?? ""),
    );
    if (!flags.ignoreNotFound) throw new NoSuchThing({ what: "peering or site", name, hint });
    // Who repeats what may be done already says so, as with kubectl; that another is called alike is no reason to fail.
    return print(`there is no peering or site ${name}${hint}\n`);
  }
  if (isForgotten) {
    if (!isLeaving) return;
    const progress = () => `waiting for what site ${site} still has here`;
    await gone(client, Site, site, { ...flags, timeoutMs }, context, progress);
    print(`site ${site} ${flags.wait ? "forgotten" : "is being forgotten"}\n`);
  } else if (peerings.length === 0) {
    const contracts = usedBy(known, await listOrExplain(client, Contract, signal));
    if (contracts.length > 0) throw new ConsumersContract({ site, contracts: contracts.join(", ") });
    print(`there is no peering with ${name}\n`);
  }
}

/** Deletes an object; false where there was none. */
async function asked<T extends KubeObject>(
  client: KubeClient,
  kind: Kind<T>,
  name: string,
  { force }: UnpeerFlags,
  signal: AbortSignal,
): Promise<boolean> {
  try {
    if (force) {
      const patch = { metadata: { annotations: { [FORCE_REMOVE_ANNOTATION]: "true" } } };
      await client.patch(kind, { name }, "merge", patch, { signal });
    }
    await client.delete(kind, { name }, { signal });
    return true;
  } catch (error) {
    if (isNotFound(error)) return false;
    throw error;
  }
}

/** Follows what was deleted to its end, where that is waited for. */
async function gone<T extends KubeObject>(
  client: KubeClient,
  kind: Kind<T>,
  name: string,
  { wait, force, timeoutMs }: Pick<UnpeerFlags, "wait" | "force"> & { readonly timeoutMs: number },
  { signal, note }: CommandContext,
  progress: (object: T) => string,
): Promise<void> {
  if (!wait) return;
  const look = (found: T | undefined) =>
    found === undefined ? ({ done: true } as const) : ({ done: false, progress: progress(found) } as const);
  const what = `${kind.kind} ${name} was not gone`;
  await waitFor(client, kind, { name }, look, {
    signal,
    timeoutMs,
    what,
    told: (line) => note(`${line}\n`),
    ...(!force && { late: (seconds: number, last: string) => new StillEnding({ what, seconds, last }) }),
  });
}

function progressOf({ metadata, status }: Peering): string {
  const ready = getCondition(status?.conditions, "Ready");
  return ready?.message ? `${metadata.name}: ${ready.message}` : `${metadata.name} is ending`;
}
