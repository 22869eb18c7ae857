import { createReadStream, statSync } from "node:fs";
import { createInterface } from "node:readline";
import { sleep, systemClock } from "@fjord/base";
import type { Command } from "commander";
import type { ManagedProcess } from "../managed-process.ts";
import { openBed } from "../open-bed.ts";
import type { CommandContext, CommonOptions } from "./context.ts";
import { select } from "./processes.ts";
import { parseCount } from "./quantities.ts";
import { label } from "./start-again.ts";

export function addLogs(program: Command, context: CommandContext): void {
  program
    .command("logs")
    .description("print what processes have written")
    .argument("[site]", "a site, or - for what serves the whole bed; without it all of them")
    .argument("[process]", "such as kube-apiserver; without it all of the site's")
    .option("-f, --follow", "go on printing what is added, until Ctrl-C", false)
    .option("--tail <lines>", "only the last lines of each", parseCount(0))
    .action(
      async (
        site: string | undefined,
        name: string | undefined,
        options: { follow: boolean; tail?: number },
        command: Command,
      ) => {
        const bed = await openBed(command.optsWithGlobals<CommonOptions>().directory);
        const processes = select(bed, site, name);
        const prefix = (process: ManagedProcess) => (processes.length === 1 ? "" : `${label(process)} | `);
        const ends = new Map<ManagedProcess, number>();
        for (const process of processes) {
          ends.set(process, await printFrom(process.record.log, 0, prefix(process), context, options.tail));
        }
        while (options.follow && !context.signal.aborted) {
          await sleep(systemClock, 300, context.signal);
          for (const [process, end] of ends) {
            if (size(process.record.log) <= end) continue;
            ends.set(process, await printFrom(process.record.log, end, prefix(process), context));
          }
        }
      },
    );
}

/** Prints whole lines from a position on; gives the position after them. */
async function printFrom(
  file: string,
  start: number,
  prefix: string,
  context: CommandContext,
  tail = Number.POSITIVE_INFINITY,
): Promise<number> {
  const end = size(file);
  if (end <= start) return start;
  let kept: string[] = [];
  const lines = createInterface({ input: createReadStream(file, { start, end: end - 1 }) });
  for await (const line of lines) {
    if (tail === Number.POSITIVE_INFINITY) context.out(prefix + line);
    else kept = [...kept, line].slice(-tail || kept.length + 1);
  }
  for (const line of kept) context.out(prefix + line);
  return end;
}

function size(file: string): number {
  return statSync(file, { throwIfNoEntry: false })?.size ?? 0;
}
