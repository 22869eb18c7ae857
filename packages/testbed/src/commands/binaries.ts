import type { Command } from "commander";
import {
  type BinarySet,
  describeProgress,
  ensureBrowser,
  ensurePrograms,
  KUBERNETES_MINORS,
  type KubernetesMinor,
} from "../binaries/index.ts";
import { type CommandContext, type OutputFormat, outputOption } from "./context.ts";
import { table } from "./table.ts";
import { minorOption } from "./up.ts";

interface BinariesOptions {
  kubernetes?: KubernetesMinor[];
  nodes: boolean;
  kwok: boolean;
  conformance: boolean;
  metricsServer: boolean;
  oldKubectl: boolean;
  browser: boolean;
  helm: boolean;
  network: boolean;
  kubeRouter: boolean;
  verify: boolean;
  output: OutputFormat;
}

export function addBinaries(program: Command, context: CommandContext): void {
  program
    .command("binaries")
    .description("find, build or download the programs that sites are made of, and print where they are")
    .addOption(minorOption("several times for several", "all of them"))
    .option("--nodes", "also those of real nodes", false)
    .option("--kwok", "also kwok, for simulated nodes", false)
    .option("--conformance", "also Kubernetes' own end-to-end suite, and the programs of its images", false)
    .option("--metrics-server", "also metrics-server, for `kubectl top`", false)
    .option("--old-kubectl", "also a kubectl four minors older than the newest", false)
    .option("--browser", "also Chromium, for tests of the page (root, Debian: installs it)", false)
    .option("--helm", "also Helm", false)
    .option(
      "--network",
      "also WireGuard as a program, for links between sites, and what looks at packets (root, Debian: installs it)",
      false,
    )
    .option("--kube-router", "also kube-router, for pods whose network enforces NetworkPolicies", false)
    .option("--verify", "compare every cached file with its checksum", false)
    .addOption(outputOption())
    .action(async (options: BinariesOptions) => {
      const sets: BinarySet[] = ["control-plane"];
      if (options.nodes) sets.push("nodes");
      if (options.kwok) sets.push("kwok");
      if (options.conformance) sets.push("conformance");
      if (options.metricsServer) sets.push("metrics-server");
      if (options.oldKubectl) sets.push("old-kubectl");
      if (options.helm) sets.push("helm");
      if (options.network) sets.push("network");
      if (options.kubeRouter) sets.push("kube-router");
      const progress = (event: Parameters<typeof describeProgress>[0]) => context.progress(describeProgress(event));
      const binaries = await ensurePrograms({
        minors: options.kubernetes ?? KUBERNETES_MINORS,
        sets,
        env: context.env,
        signal: context.signal,
        progress,
        ...(options.verify && { scrutiny: "full" as const }),
      });
      if (options.browser) await ensureBrowser({ env: context.env, signal: context.signal, progress });
      if (options.output === "json") return context.out(JSON.stringify(binaries.all, undefined, 2));
      context.out(
        table(
          ["PROGRAM", "VERSION", "FROM", "PATH"],
          binaries.all.map(({ component, version, source, path }) => [component, version, source, path]),
        ),
      );
    });
}
