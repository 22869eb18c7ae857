import { Site } from "@fjord/api";
import { didYouMean } from "@fjord/base";
import { getCondition, isConditionTrue } from "@fjord/kube";
import type { Command } from "commander";
import type { CommandContext } from "../command-line/command-context.ts";
import { type ListFlags, type Listing, listOptions, showLists } from "../command-line/show-lists.ts";
import { NoSuchThing } from "../errors.ts";
import { whole } from "../output/format.ts";
import { age, cell, table } from "../output/table.ts";

/** Fjord's kinds are here, and no agent has ever run. */
export const NO_SITES =
  "there are no sites here yet: an agent makes this one when it starts, and `fjord init` installs an agent\n";

export function addSites(program: Command, context: CommandContext): void {
  const command = program
    .command("sites")
    .description("list the sites that this one knows, itself among them")
    .argument("[names...]", "only these");
  listOptions(command).action((names: readonly string[], flags: ListFlags) =>
    showLists<[Site[]]>(listing(names), flags, context),
  );
}

function listing(names: readonly string[]): Listing<[Site[]]> {
  return {
    kinds: [Site],
    chosen: ([all]) => [names.length === 0 ? all : names.map((name) => siteCalled(name, all))],
    value: ([sites]) => whole(sites, names.length === 1),
    table: ([sites], wide, now) => (sites.length === 0 ? NO_SITES : siteTable(sites, wide, now)),
  };
}

function siteCalled(name: string, all: readonly Site[]): Site {
  const found = all.find(({ metadata }) => metadata.name === name);
  if (found !== undefined) return found;
  const names = all.map(({ metadata }) => metadata.name ?? "");
  throw new NoSuchThing({ what: "site", name, hint: didYouMean(name, names) });
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
      cell(isConditionTrue(status?.conditions, "Cordoned") ? `${ready?.reason},Cordoned` : ready?.reason),
      age(metadata.creationTimestamp, now),
      ...(wide ? [cell(status?.id ?? spec.id), cell(status?.published?.version), cell(spec.endpoints?.join(","))] : []),
    ];
  });
  return table(headers, rows);
}
