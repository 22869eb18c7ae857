import type { Command } from "commander";
import type { Bed } from "../bed.ts";
import { openBed } from "../open-bed.ts";
import { type CommandContext, type CommonOptions, type OutputFormat, outputOption } from "./context.ts";
import { formatBytes } from "./quantities.ts";
import { table } from "./table.ts";

export function addStatus(program: Command, context: CommandContext): void {
  program
    .command("status")
    .description("show the sites, their processes and what they take; exits with 1 unless all is well")
    .addOption(outputOption())
    .action(async (options: { output: OutputFormat }, command: Command) => {
      const { directory } = command.optsWithGlobals<CommonOptions>();
      const status = await bedStatus(await openBed(directory));
      context.out(options.output === "json" ? JSON.stringify(status, undefined, 2) : describeStatus(status));
      if (!status.ready) context.setExitCode(1);
    });
}

export interface BedStatus {
  id: string;
  directory: string;
  ready: boolean;
  sites: SiteStatus[];
  /** Processes that serve the whole bed. */
  processes: ProcessStatus[];
}

export interface SiteStatus {
  name: string;
  kubernetes: string;
  ready: boolean;
  /** Resident, in bytes. */
  memory: number;
  server: string;
  kubeconfig: string;
  podCidr: string;
  serviceCidr: string;
  processes: ProcessStatus[];
}

export interface ProcessStatus {
  name: string;
  state: "running" | "paused" | "ended";
  pid?: number;
  memory: number;
  log: string;
}

/** How a bed is doing now. */
export async function bedStatus(bed: Bed): Promise<BedStatus> {
  const sites = await Promise.all(
    bed.sites.map(async (site): Promise<SiteStatus> => {
      const processes = site.processes.map(processStatus);
      const running = processes.every(({ state }) => state === "running");
      return {
        name: site.name,
        kubernetes: site.layout.kubernetes,
        ready: running && (await site.get("/readyz")).status === 200,
        memory: site.memory,
        server: site.config.server,
        kubeconfig: site.kubeconfig,
        podCidr: site.layout.podCidr,
        serviceCidr: site.layout.serviceCidr,
        processes,
      };
    }),
  );
  const processes = bed.processes.filter((process) => process.record.site === "").map(processStatus);
  const ready = sites.every((site) => site.ready) && processes.every(({ state }) => state === "running");
  return { id: bed.id, directory: bed.directory, ready, sites, processes };
}

function processStatus(process: Bed["processes"][number]): ProcessStatus {
  const state = process.paused ? "paused" : process.running ? "running" : "ended";
  const { pid } = process;
  return { name: process.name, state, ...(pid && { pid }), memory: process.memory, log: process.record.log };
}

/** The sites as a table. */
export function describeSites(sites: readonly SiteStatus[]): string {
  return table(
    ["SITE", "KUBERNETES", "READY", "MEMORY", "PODS", "SERVICES", "SERVER", "KUBECONFIG"],
    sites.map((site) => [
      site.name,
      site.kubernetes,
      site.ready ? "yes" : "no",
      formatBytes(site.memory),
      site.podCidr,
      site.serviceCidr,
      site.server,
      site.kubeconfig,
    ]),
  );
}

function describeStatus(status: BedStatus): string {
  const row = (site: string) => (process: ProcessStatus) => [
    site,
    process.name,
    process.state,
    process.pid === undefined ? "-" : `${process.pid}`,
    formatBytes(process.memory),
  ];
  const rows = [
    ...status.sites.flatMap((site) => site.processes.map(row(site.name))),
    ...status.processes.map(row("-")),
  ];
  return `${describeSites(status.sites)}\n\n${table(["SITE", "PROCESS", "STATE", "PID", "MEMORY"], rows)}`;
}
