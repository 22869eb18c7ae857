import { systemClock } from "@fjord/base";
import type { Bed } from "../bed.ts";
import { PausedError } from "../errors.ts";
import type { ManagedProcess } from "../managed-process.ts";
import { networkServes } from "../network/network-process.ts";
import { nodeOf } from "../nodes/node-processes.ts";
import { nodesReadySince } from "../nodes/node-ready.ts";
import type { Site, StartOptions } from "../site.ts";
import { type BedState, readState } from "../state.ts";

/** The site that stands for what serves the whole bed, in arguments. */
export const wholeBed = "-";

/** `site-1/etcd`, or the name alone of what serves the whole bed. */
export function label(process: ManagedProcess): string {
  return [process.record.site, process.name].filter(Boolean).join("/");
}

/** A site with a paused process never gets ready: saying so at once beats waiting for it. */
export function refusePaused(processes: readonly ManagedProcess[]): void {
  const paused = processes
    .filter((process) => process.paused)
    .map((process) => {
      const { name, record } = process;
      return `${label(process)} is paused: \`npm run testbed -- resume ${record.site || wholeBed} ${name}\``;
    });
  if (paused.length > 0) throw new PausedError({ paused: paused.join("\n") });
}

/** Starts processes of a bed, each after those that it needs, and waits until what they are of is ready. */
export async function startAgain(bed: Bed, processes: readonly ManagedProcess[], limits: StartOptions): Promise<void> {
  const ofSite = (name: string) => processes.filter((process) => process.record.site === name);
  await Promise.all(
    bed.sites.map(async (site) => {
      if (ofSite(site.name).length > 0) await startSiteAgain(site, ofSite(site.name), limits);
    }),
  );
  for (const process of ofSite("")) {
    await process.start();
    await networkServes(process, readState(bed.directory) as BedState, { ...limits, clock: systemClock });
  }
}

async function startSiteAgain(site: Site, processes: readonly ManagedProcess[], limits: StartOptions): Promise<void> {
  const began = systemClock.now();
  // The control plane first: whatever else a site has calls its API server, and some of it gives up soon.
  await site.start(limits);
  for (const process of processes) await process.start();
  // A node whose kubelet went on has no reason to report again soon.
  const nodes = processes.filter(({ name }) => name.endsWith("-kubelet")).flatMap((process) => nodeOf(process) ?? []);
  await nodesReadySince(site, nodes, began, { ...limits, clock: systemClock });
}
