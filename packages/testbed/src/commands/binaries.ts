import type { Command } from "commander";
import {
  type BinarySet,
  DEFAULT_MINOR,
  describeProgress,
  ensureBinaries,
  type KubernetesMinor,
} from "../binaries/index.ts";
import { type CommandContext, type OutputFormat, outputOption } from "./context.ts";
import { table } from "./table.ts";
import { collectMinor, minorDescription } from "./up.ts";

interface BinariesOptions {
  kubernetes?: KubernetesMinor[];
  nodes: boolean;
  kwok: boolean;
  verify: boolean;
  output: OutputFormat;
}

export function addBinaries(program: Command, context: CommandContext): void {
  program
    .command("binaries")
    .description("find, build or download the programs that sites are made of, and print where they are")
    .option("--kubernetes <minor>", minorDescription("several times for several"), collectMinor)
    .option("--nodes", "also those of real nodes", false)
    .option("--kwok", "also kwok, for simulated nodes", false)
    .option("--verify", "compare every cached file with its checksum", false)
    .addOption(outputOption())
    .action(async (options: BinariesOptions) => {
      const sets: BinarySet[] = ["control-plane"];
      if (options.nodes) sets.push("nodes");
      if (options.kwok) sets.push("kwok");
      const binaries = await ensureBinaries({
        minors: options.kubernetes ?? [DEFAULT_MINOR],
        sets,
        env: context.env,
        signal: context.signal,
        progress: (event) => context.progress(describeProgress(event)),
        ...(options.verify && { scrutiny: "full" as const }),
      });
      if (options.output === "json") return context.out(JSON.stringify(binaries.all, undefined, 2));
      context.out(
        table(
          ["PROGRAM", "VERSION", "FROM", "PATH"],
          binaries.all.map(({ component, version, source, path }) => [component, version, source, path]),
        ),
      );
    });
}
