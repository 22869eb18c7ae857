import { AGENT_NAMESPACE } from "@fjord/api";
import { KubeClient, loadClusterConfig } from "@fjord/kube";
import type { Command } from "commander";
import type { CommandContext } from "./command-context.ts";

interface InstallFlags {
  kubeconfig?: string;
  context?: string;
  namespace: string;
  dryRun: boolean;
}

export function addInstall(program: Command, context: CommandContext): void {
  program
    .command("install")
    .description(
      "give a cluster what an agent needs there: Fjord's kinds, a namespace, a service account and its roles",
    )
    .option("--kubeconfig <file>", "how to reach the cluster, as an administrator")
    .option("--context <name>", "context of the kubeconfig")
    .option("--namespace <name>", "where the agent keeps its own objects", AGENT_NAMESPACE)
    .option("--dry-run", "print the objects instead of applying them", false)
    .action((flags: InstallFlags) => install(flags, context));
}

async function install(flags: InstallFlags, context: CommandContext): Promise<void> {
  const { env, home, signal, print } = context;
  // An agent that runs needs none of this.
  const [{ manifests }, { installObjects }] = await Promise.all([
    import("../installation/manifests.ts"),
    import("../installation/install-objects.ts"),
  ]);
  const objects = manifests({ namespace: flags.namespace });
  if (flags.dryRun) {
    const { stringify } = await import("yaml");
    print(objects.map((object) => `---\n${stringify(object)}`).join(""));
    return;
  }
  const config = await loadClusterConfig({
    env,
    home,
    ...(flags.kubeconfig !== undefined && { kubeconfig: flags.kubeconfig }),
    ...(flags.context !== undefined && { context: flags.context }),
  });
  await using client = new KubeClient(config, { closeGraceMs: 2_000 });
  await installObjects(client, objects, { signal, told: (line) => print(`${line}\n`) });
}
