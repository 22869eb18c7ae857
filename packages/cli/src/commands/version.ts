import { Site } from "@fjord/api";
import { describeError } from "@fjord/base";
import { type Command, Option } from "commander";
import { type ClusterFlags, clusterOptions, connect } from "../command-line/cluster-options.ts";
import type { CommandContext } from "../command-line/command-context.ts";
import { formatValue, type Output, outputOption } from "../output/format.ts";
import { shown } from "../output/terminal-text.ts";
import { FJORD_VERSION } from "../version.ts";

interface VersionFlags extends ClusterFlags {
  readonly client: boolean;
  readonly output: Output;
}

export interface Versions {
  readonly client: { readonly version: string; readonly node: string; readonly platform: string };
  readonly kubernetes?: { readonly version: string; readonly server: string };
  /** Of the site's own agent; absent where none has introduced itself. */
  readonly agent?: { readonly version: string; readonly site: string };
}

export function addVersion(program: Command, context: CommandContext): void {
  const command = program
    .command("version")
    .description("print the versions of this program, of the agent and of the cluster");
  outputOption(clusterOptions(command), ["json", "yaml"], "text")
    .addOption(new Option("--client", "this program's alone: no cluster is asked").default(false))
    .action(async (flags: VersionFlags) => {
      const client = clientVersion();
      const show = async (versions: Versions) =>
        context.print((await formatValue(versions, flags.output, context.isTerminal)) ?? versionLines(versions));
      if (flags.client) return await show({ client });
      try {
        await show(await versionsOf(flags, context));
      } catch (error) {
        // What is known is told all the same. Whoever reads JSON gets one document: the error.
        if (flags.output.format === "table") await show({ client });
        throw error;
      }
    });
}

export function clientVersion(): Versions["client"] {
  return { version: FJORD_VERSION, node: process.version, platform: `${process.platform}/${process.arch}` };
}

async function versionsOf(flags: ClusterFlags, context: CommandContext): Promise<Versions> {
  const { signal } = context;
  await using client = await connect(flags, context);
  const { body } = await client.raw("GET", "/version", { signal });
  const { gitVersion = "unknown" } = JSON.parse(body.toString("utf8")) as { gitVersion?: string };
  const sites = await client.list(Site, { signal }).catch((error: unknown) => {
    context.note(`no agent was found: ${describeError(error)}\n`);
    return { items: [] };
  });
  const own = sites.items.find(({ status }) => status?.role === "Self");
  const agent = own?.status?.published?.version;
  return {
    client: clientVersion(),
    kubernetes: { version: gitVersion, server: client.transport.server },
    ...(agent !== undefined && { agent: { version: agent, site: own?.metadata.name ?? "" } }),
  };
}

function versionLines({ client, kubernetes, agent }: Versions): string {
  const lines = [
    `fjord: ${client.version} (Node ${client.node}, ${client.platform})`,
    ...(agent ? [`agent: ${agent.version} (site ${agent.site})`] : []),
    ...(kubernetes ? [`Kubernetes: ${kubernetes.version} (${kubernetes.server})`] : []),
    "",
  ];
  return shown(lines.join("\n"));
}
