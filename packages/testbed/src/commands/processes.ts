import type { Command } from "commander";
import type { Bed } from "../bed.ts";
import type { ManagedProcess } from "../managed-process.ts";
import { withWholeNodes } from "../nodes/node-processes.ts";
import { openBed } from "../open-bed.ts";
import type { CommandContext, CommonOptions } from "./context.ts";
import { label, refusePaused, startAgain, wholeBed } from "./start-again.ts";

export function addProcesses(program: Command, context: CommandContext): void {
  const limits = { timeout: 120_000, signal: context.signal };
  const where = "a site, or - for what serves the whole bed";
  program
    .command("restart")
    .description("stop and start processes, and wait until their sites are ready again")
    .argument("[site]", `${where}; without it all of them`)
    .argument("[process]", "such as kube-apiserver; without it all of the site's")
    .action(async (site: string | undefined, name: string | undefined, _, command: Command) => {
      const bed = await open(command);
      const processes = withWholeNodes(select(bed, site, name), bed.processes);
      const sites = new Set(processes.map((process) => process.record.site));
      refusePaused(bed.processes.filter((each) => sites.has(each.record.site) && !processes.includes(each)));
      // Those that depend on others are stopped before them, and started after them.
      for (const process of [...processes].reverse()) await process.stop();
      await startAgain(bed, processes, limits);
      context.progress(`Restarted ${processes.map(label).join(", ")}`);
    });
  const each = (name: string, description: string, done: string, act: (process: ManagedProcess) => Promise<void>) =>
    program
      .command(name)
      .description(description)
      .argument("<site>", where)
      .argument("[process]", "such as kube-apiserver; without it all of the site's")
      .action(async (site: string, process: string | undefined, _, command: Command) => {
        const processes = select(await open(command), site, process);
        for (const one of processes) await act(one);
        context.progress(`${done} ${processes.map(label).join(", ")}`);
      });
  each("pause", "stop processes from running (SIGSTOP); their connections stay open", "Paused", (it) => it.pause());
  each("resume", "let paused processes run again", "Resumed", (it) => it.resume());
  each("kill", "end processes at once (SIGKILL); `restart` or `up` starts them again", "Killed", (it) => it.kill());
}

/** The processes that the arguments name; all of them without arguments. */
export function select(bed: Bed, site: string | undefined, name: string | undefined): readonly ManagedProcess[] {
  if (site === undefined) return bed.processes;
  const owner = site === wholeBed ? bed : bed.site(site);
  if (name !== undefined) return [owner.process(name)];
  return bed.processes.filter((process) => process.record.site === (site === wholeBed ? "" : site));
}

function open(command: Command): Promise<Bed> {
  return openBed(command.optsWithGlobals<CommonOptions>().directory);
}
