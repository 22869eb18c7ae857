import { Contract, Offloading, Peering, Site, VirtualNode } from "@fjord/api";
import { getCondition } from "@fjord/kube";
import type { Command } from "commander";
import type { CommandContext } from "../command-line/command-context.ts";
import { amountsText } from "../command-line/resources.ts";
import { type ListFlags, type Listing, listOptions, showLists } from "../command-line/show-lists.ts";
import { type Drain, drainsOf } from "../drain/drains.ts";
import { age, cell, table } from "../output/table.ts";
import { isClosedStill, standingOf } from "../place/contract-standing.ts";
import { peeringMessage, peeringReason } from "../place/peering-message.ts";
import { twinsMessage } from "../place/twins-ready.ts";
import { NO_SITES, siteTable } from "./sites.ts";

type Lists = [Site[], Peering[], Contract[], VirtualNode[], Offloading[]];

const listing: Listing<Lists, Drain[]> = {
  kinds: [Site, Peering, Contract, VirtualNode, Offloading],
  more: (client, [, , contracts], now, signal) => drainsOf(client, contracts, now, signal),
  isMoving: (drains) => drains.some(({ done }) => !done),
  value: ([sites, peerings, contracts, virtualNodes, offloadings], drains = []) => ({
    sites,
    peerings,
    contracts,
    virtualNodes,
    offloadings,
    ...(drains.length > 0 && { drains }),
  }),
  table: statusTables,
};

export function addStatus(program: Command, context: CommandContext): void {
  const command = program
    .command("status")
    .description("show this site, its peers, contracts, virtual nodes and offloadings");
  listOptions(command).action((flags: ListFlags) => showLists(listing, flags, context));
}

function statusTables(
  [sites, peerings, contracts, virtualNodes, offloadings]: Lists,
  wide: boolean,
  now: number,
  drains: readonly Drain[] = [],
): string {
  const sections: [string, number, string][] = [
    ["Sites", sites.length, siteTable(sites, wide, now)],
    ["Peerings", peerings.length, peeringTable(peerings, wide)],
    ["Contracts", contracts.length, contractsText(contracts, peerings, sites, wide)],
    ["Drains", drains.length, drainTable(drains)],
    ["Virtual nodes", virtualNodes.length, nodeTable(virtualNodes, wide)],
    ["Offloaded namespaces", offloadings.length, offloadingTable(offloadings, sites, wide, now)],
  ];
  const shown = sections.filter(([, count]) => count > 0);
  return shown.map(([title, , text]) => `${title}\n${indent(text)}`).join("\n") || NO_SITES;
}

function indent(text: string): string {
  return text.replace(/^(?=.)/gm, "  ");
}

const steps = ["Paired", "Agreed", "Realised"] as const;

function peeringTable(items: readonly Peering[], wide: boolean): string {
  const rows = items.map(({ metadata, spec, status }) => {
    const ready = getCondition(status?.conditions, "Ready");
    const node = cell(status?.virtualNode);
    return [
      metadata.name ?? "",
      spec.site,
      cell(status?.contract),
      node,
      ready?.status ?? "Unknown",
      cell(peeringReason({ ...(status && { status }) })),
      ...(wide ? steps.map((type) => getCondition(status?.conditions, type)?.status ?? "Unknown") : []),
      peeringMessage({ ...(status && { status }) }),
    ];
  });
  const more = wide ? steps.map((type) => type.toUpperCase()) : [];
  return table(["NAME", "SITE", "CONTRACT", "NODE", "READY", "REASON", ...more, "MESSAGE"], rows);
}

/** Those that are over are told of by their number, but for the last one of a peering and what keeps a consumer from another, unless all is asked for. */
function contractsText(
  items: readonly Contract[],
  peerings: readonly Peering[],
  sites: readonly Site[],
  wide: boolean,
): string {
  const { shown, hidden } = worthShowing(items, peerings, wide);
  const rest = hidden === 0 ? "" : `${hidden} more ${hidden === 1 ? "is" : "are"} over: -o wide shows all\n`;
  return (shown.length === 0 ? "" : contractTable(shown, sites, wide)) + rest;
}

export function worthShowing(
  items: readonly Contract[],
  peerings: readonly Pick<Peering, "status">[],
  wide: boolean,
): { shown: Contract[]; hidden: number } {
  const current = new Set(peerings.map(({ status }) => status?.contract));
  const shown = items.filter(
    (contract) =>
      wide || contract.status?.phase !== "Ended" || current.has(contract.metadata.name) || isClosedStill(contract),
  );
  return { shown, hidden: items.length - shown.length };
}

function contractTable(items: readonly Contract[], sites: readonly Site[], wide: boolean): string {
  const rows = items.map(({ metadata, spec, status }) => {
    const { terms } = spec;
    const other = siteName(status?.side === "Provider" ? terms.consumer : terms.provider, sites);
    return [
      metadata.name ?? "",
      cell(status?.side),
      other,
      cell(status?.phase),
      cell(standingOf({ spec, ...(status && { status }) }, other)),
      amountsText(terms.resources),
      terms.notAfter,
      ...(wide ? [terms.consumer, terms.provider] : []),
    ];
  });
  const more = wide ? ["CONSUMER", "PROVIDER"] : [];
  return table(["NAME", "SIDE", "WITH", "PHASE", "STANDING", "AMOUNTS", "UNTIL", ...more], rows);
}

function drainTable(drains: readonly Drain[]): string {
  const rows = drains.map(({ contract, done, progress }) => [contract, done ? "True" : "False", progress]);
  return table(["CONTRACT", "DRAINED", "MESSAGE"], rows);
}

function nodeTable(items: readonly VirtualNode[], wide: boolean): string {
  const rows = items.map(({ metadata, spec, status }) => {
    const ready = getCondition(status?.conditions, "Ready");
    return [
      metadata.name ?? "",
      spec.contract,
      ready?.status ?? "Unknown",
      cell(ready?.reason),
      ...(wide ? [cell(status?.provider), cell(status?.address)] : []),
      ready?.message ?? "",
    ];
  });
  const more = wide ? ["PROVIDER", "ADDRESS"] : [];
  return table(["NAME", "CONTRACT", "READY", "REASON", ...more, "MESSAGE"], rows);
}

function offloadingTable(items: readonly Offloading[], sites: readonly Site[], wide: boolean, now: number): string {
  const rows = items.map((offloading) => {
    const { metadata, spec, status } = offloading;
    const ready = getCondition(status?.conditions, "Ready");
    // Twins of many sites have one name: who asks for more is shown it.
    const at = (status?.sites ?? []).map(({ site, twin }) => {
      const name = siteName(site, sites);
      return wide ? `${name}/${twin ?? "?"}` : name;
    });
    return [
      metadata.namespace ?? "",
      spec.pods,
      cell(at.join(",")),
      ready?.status ?? "Unknown",
      cell(ready?.reason),
      ...(wide ? [spec.naming.strategy, age(metadata.creationTimestamp, now)] : []),
      twinsMessage(offloading, { sites }),
    ];
  });
  const more = wide ? ["NAMING", "AGE"] : [];
  return table(["NAMESPACE", "PODS", wide ? "TWINS" : "SITES", "READY", "REASON", ...more, "MESSAGE"], rows);
}

function siteName(id: string, sites: readonly Site[]): string {
  return sites.find(({ spec, status }) => (status?.id ?? spec.id) === id)?.metadata.name ?? id;
}
