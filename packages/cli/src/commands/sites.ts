import { Site } from "@fjord/api";
import { getCondition } from "@fjord/kube";
import type { Command } from "commander";
import { type ClusterFlags, clusterOptions, connect } from "../command-line/cluster-options.ts";
import type { CommandContext } from "../command-line/command-context.ts";
import { listOrExplain } from "../command-line/list-or-explain.ts";
import { formatObjects, type OutputFormat, outputOption } from "../output/format.ts";
import { age, cell, table } from "../output/table.ts";

interface SitesFlags extends ClusterFlags {
  readonly output?: OutputFormat;
}

export function addSites(program: Command, context: CommandContext): void {
  const command = program.command("sites").description("list the sites that this one knows, itself among them");
  outputOption(clusterOptions(command)).action((flags: SitesFlags) => sites(flags, context));
}

async function sites(flags: SitesFlags, context: CommandContext): Promise<void> {
  await using client = await connect(flags, context);
  const items = await listOrExplain(client, Site, context.signal);
  const formatted = await formatObjects(items, flags.output, () => "site.fjord.dev");
  context.print(formatted ?? siteTable(items, flags.output === "wide", context.clock.now()));
}

export function siteTable(items: readonly Site[], wide: boolean, now: number): string {
  const headers = [
    "NAME",
    "ROLE",
    "TIER",
    "REGION",
    "READY",
    "REASON",
    "AGE",
    ...(wide ? ["ID", "VERSION", "ENDPOINTS"] : []),
  ];
  const rows = items.map(({ metadata, spec, status }) => {
    const ready = getCondition(status?.conditions, "Ready");
    return [
      metadata.name ?? "",
      cell(status?.role),
      cell(status?.published?.tier ?? spec.tier),
      cell(status?.published?.location?.region),
      ready?.status ?? "Unknown",
      cell(ready?.reason),
      age(metadata.creationTimestamp, now),
      ...(wide ? [cell(status?.id ?? spec.id), cell(status?.published?.version), cell(spec.endpoints?.join(","))] : []),
    ];
  });
  return table(headers, rows);
}
