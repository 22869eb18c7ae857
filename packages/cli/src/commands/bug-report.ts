import { promisify } from "node:util";
import { gzip } from "node:zlib";
import { AGENT_NAMESPACE } from "@fjord/api";
import { describeError } from "@fjord/base";
import { ConnectionError, type KubeClient } from "@fjord/kube";
import type { Command } from "commander";
import { type ClusterFlags, clusterOptions, connect } from "../command-line/cluster-options.ts";
import type { CommandContext } from "../command-line/command-context.ts";
import { ReportIncomplete } from "../errors.ts";
import { collect, collectWithout } from "../report/collect.ts";
import { checkLog } from "../report/given-log.ts";
import { tar } from "../report/tar.ts";
import { writeArchive } from "../report/write-archive.ts";

interface ReportFlags extends ClusterFlags {
  readonly file?: string;
  readonly agentNamespace: string;
  readonly log: readonly string[];
}

const several = (value: string, before: string[]) => [...before, value];

export function addBugReport(program: Command, context: CommandContext): void {
  const command = program
    .command("bug-report")
    .description(
      "write an archive with what helps to find a fault: versions, objects, events, logs; secrets are removed",
    );
  clusterOptions(command)
    .option("--file <path>", "where to (default: fjord-report-TIME.tar.gz here)")
    .option("--agent-namespace <name>", "namespace of the agent", AGENT_NAMESPACE)
    .option("--log <file>", "a log of an agent that runs outside the cluster; several times", several, [])
    .action(async (flags: ReportFlags) => {
      const { clock, print, note, signal } = context;
      for (const log of flags.log) await checkLog(log);
      const stamp = new Date(clock.now()).toISOString().replaceAll(/[:.]/g, "-").slice(0, 19);
      const folder = `fjord-report-${stamp}`;
      const file = flags.file ?? `${folder}.tar.gz`;
      await using client = await connect(flags, context);
      const silence = await silenceOf(client, signal);
      const options = { namespace: flags.agentNamespace, logs: flags.log, context };
      if (silence !== undefined) note(`${describeError(silence)}\nonly what can be had without it is collected\n`);
      const files = silence === undefined ? await collect(client, options) : await collectWithout(silence, options);
      const archive = tar(
        files.map(({ name, content }) => ({ name: `${folder}/${name}`, content })),
        clock.now(),
      );
      await writeArchive(file, await promisify(gzip)(archive), signal);
      note(
        `${files.length} files; look through them before you hand them on: names of sites, namespaces and pods are in them, and what programs said in words of their own\n`,
      );
      print(`${file}\n`);
      if (silence !== undefined) throw new ReportIncomplete({ file }, { cause: silence });
    });
}

/** Why the cluster cannot be asked for anything; undefined where it answers, if only with a refusal. */
async function silenceOf(client: KubeClient, signal: AbortSignal): Promise<ConnectionError | undefined> {
  try {
    await client.raw("GET", "/version", { signal });
    return undefined;
  } catch (error) {
    signal.throwIfAborted();
    return error instanceof ConnectionError ? error : undefined;
  }
}
