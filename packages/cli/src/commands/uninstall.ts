import { AGENT_NAMESPACE } from "@fjord/api";
import { type Command, Option } from "commander";
import { checkedNamespace } from "../command-line/checked-names.ts";
import { type ClusterFlags, clusterOptions, connect } from "../command-line/cluster-options.ts";
import type { CommandContext } from "../command-line/command-context.ts";
import { parseDuration } from "../command-line/durations.ts";
import { PartOfMicro, StillInUse } from "../errors.ts";
import { refuseForeign, refuseShared } from "../installation/agents-namespace.ts";
import { isInstalled, removeInstallation, usesOf } from "../installation/remove-installation.ts";
import { isMicroSite } from "../micro/node-rights.ts";

interface UninstallFlags extends ClusterFlags {
  readonly namespace: string;
  readonly force: boolean;
  readonly timeout: string;
}

/** A namespace goes in steps of the cluster's own, which no option makes quicker. */
const REMOVAL_MS = 120_000;

export function addUninstall(program: Command, context: CommandContext): void {
  const command = program.command("uninstall").description("remove Fjord from a cluster: nothing of it is left");
  clusterOptions(command)
    .option("--namespace <name>", "namespace of the agent", AGENT_NAMESPACE)
    .addOption(
      new Option(
        "--force",
        "though there are peerings, contracts or offloaded namespaces, or something of others in the agent's namespace: they end",
      ).default(false),
    )
    .option("--timeout <duration>", "how long the agent has to end what there is", "60s")
    .action(async (flags: UninstallFlags) => {
      const { signal, print, note } = context;
      const timeoutMs = parseDuration("--timeout", flags.timeout);
      await using client = await connect(flags, context);
      if (await isMicroSite(client, signal)) throw new PartOfMicro({ server: client.transport.server });
      const namespace = checkedNamespace("--namespace", flags.namespace);
      await refuseForeign(client, namespace, signal);
      if (!(await isInstalled(client, namespace, signal))) return print("there is nothing of Fjord here\n");
      if (!flags.force) await refuseShared(client, namespace, signal);
      const uses = await usesOf(client, signal);
      if (uses.length > 0 && !flags.force) throw new StillInUse({ what: uses.join(", ") });
      const told = (line: string) => note(`${line}\n`);
      const removalMs = Math.max(timeoutMs, REMOVAL_MS);
      await removeInstallation(client, { namespace, timeoutMs, removalMs, signal, told });
      print("Fjord uninstalled\n");
    });
}
