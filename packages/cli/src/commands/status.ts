import { Contract, Offloading, Peering, Site, VirtualNode } from "@fjord/api";
import { getCondition } from "@fjord/kube";
import { type Command, Option } from "commander";
import { type ClusterFlags, clusterOptions, connect } from "../command-line/cluster-options.ts";
import type { CommandContext } from "../command-line/command-context.ts";
import { listOrExplain } from "../command-line/list-or-explain.ts";
import { cell, table } from "../output/table.ts";
import { siteTable } from "./sites.ts";

interface StatusFlags extends ClusterFlags {
  readonly output?: "json" | "yaml";
}

interface Status {
  readonly sites: Site[];
  readonly peerings: Peering[];
  readonly contracts: Contract[];
  readonly virtualNodes: VirtualNode[];
  readonly offloadings: Offloading[];
}

export function addStatus(program: Command, context: CommandContext): void {
  const command = program
    .command("status")
    .description("show this site, its peers, contracts, virtual nodes and offloadings");
  clusterOptions(command)
    .addOption(new Option("-o, --output <format>", "instead of tables").choices(["json", "yaml"]))
    .action((flags: StatusFlags) => status(flags, context));
}

async function status(flags: StatusFlags, context: CommandContext): Promise<void> {
  const { signal, print, clock } = context;
  await using client = await connect(flags, context);
  const [sites, peerings, contracts, virtualNodes, offloadings] = await Promise.all([
    listOrExplain(client, Site, signal),
    listOrExplain(client, Peering, signal),
    listOrExplain(client, Contract, signal),
    listOrExplain(client, VirtualNode, signal),
    listOrExplain(client, Offloading, signal),
  ]);
  const all: Status = { sites, peerings, contracts, virtualNodes, offloadings };
  if (flags.output === "json") return print(`${JSON.stringify(all, undefined, 2)}\n`);
  if (flags.output === "yaml") {
    const { stringify } = await import("yaml");
    return print(stringify(all));
  }
  const now = clock.now();
  const sections: [string, number, string][] = [
    ["Sites", sites.length, siteTable(sites, false, now)],
    ["Peerings", peerings.length, peeringTable(peerings)],
    ["Contracts", contracts.length, contractTable(contracts, sites)],
    ["Virtual nodes", virtualNodes.length, nodeTable(virtualNodes)],
    ["Offloaded namespaces", offloadings.length, offloadingTable(offloadings, sites)],
  ];
  const shown = sections.filter(([, count]) => count > 0);
  print(shown.map(([title, , text]) => `${title}\n${indent(text)}`).join("\n") || "there are no sites here yet\n");
}

function indent(text: string): string {
  return text.replace(/^(?=.)/gm, "  ");
}

function peeringTable(items: readonly Peering[]): string {
  const rows = items.map(({ metadata, spec, status }) => {
    const ready = getCondition(status?.conditions, "Ready");
    const node = cell(status?.virtualNode);
    return [
      metadata.name ?? "",
      spec.site,
      cell(status?.contract),
      node,
      ready?.status ?? "Unknown",
      cell(ready?.reason),
      ready?.message ?? "",
    ];
  });
  return table(["NAME", "SITE", "CONTRACT", "NODE", "READY", "REASON", "MESSAGE"], rows);
}

function contractTable(items: readonly Contract[], sites: readonly Site[]): string {
  const rows = items.map(({ metadata, spec, status }) => {
    const { terms } = spec;
    const other = status?.side === "Provider" ? terms.consumer : terms.provider;
    const amounts = Object.entries(terms.resources).map(([name, amount]) => `${name}=${amount}`);
    return [
      metadata.name ?? "",
      cell(status?.side),
      siteName(other, sites),
      cell(status?.phase),
      spec.standing,
      amounts.join(","),
      terms.notAfter,
    ];
  });
  return table(["NAME", "SIDE", "WITH", "PHASE", "STANDING", "AMOUNTS", "UNTIL"], rows);
}

function nodeTable(items: readonly VirtualNode[]): string {
  const rows = items.map(({ metadata, spec, status }) => {
    const ready = getCondition(status?.conditions, "Ready");
    return [metadata.name ?? "", spec.contract, ready?.status ?? "Unknown", cell(ready?.reason), ready?.message ?? ""];
  });
  return table(["NAME", "CONTRACT", "READY", "REASON", "MESSAGE"], rows);
}

function offloadingTable(items: readonly Offloading[], sites: readonly Site[]): string {
  const rows = items.map(({ metadata, spec, status }) => {
    const ready = getCondition(status?.conditions, "Ready");
    const twins = (status?.sites ?? []).map(({ site, twin }) => `${siteName(site, sites)}/${twin ?? "?"}`);
    return [
      metadata.namespace ?? "",
      spec.pods,
      cell(twins.join(",")),
      ready?.status ?? "Unknown",
      cell(ready?.reason),
    ];
  });
  return table(["NAMESPACE", "PODS", "TWINS", "READY", "REASON"], rows);
}

function siteName(id: string, sites: readonly Site[]): string {
  return sites.find(({ spec, status }) => (status?.id ?? spec.id) === id)?.metadata.name ?? id;
}
