import type { ContainerUsage } from "./usage.ts";

/** What a node's pods use, by `namespace/name`, with the uid that tells a pod from an earlier one of its name. */
export type NodeUsage = ReadonlyMap<string, { readonly uid: string; readonly containers: readonly ContainerUsage[] }>;

interface Sample {
  time?: string;
  [field: string]: unknown;
}

interface SaidContainer {
  name?: string;
  startTime?: string;
  cpu?: Sample;
  memory?: Sample;
}

interface SaidSummary {
  pods?: { podRef?: { name?: string; namespace?: string; uid?: string }; containers?: SaidContainer[] }[];
}

/** Reads the answer of a kubelet's `/stats/summary`, for the pods that are asked about alone. */
export function readSummary(summary: unknown, isWanted: (key: string) => boolean): NodeUsage {
  const usage = new Map<string, { uid: string; containers: ContainerUsage[] }>();
  for (const { podRef, containers = [] } of (summary as SaidSummary).pods ?? []) {
    const key = `${podRef?.namespace}/${podRef?.name}`;
    if (!isWanted(key)) continue;
    usage.set(key, { uid: podRef?.uid ?? "", containers: containers.flatMap((each) => containerOf(each) ?? []) });
  }
  return usage;
}

function containerOf({ name = "", startTime = "", cpu, memory }: SaidContainer): ContainerUsage | undefined {
  const at = Date.parse(cpu?.time ?? memory?.time ?? "");
  const started = Date.parse(startTime);
  if (Number.isNaN(at) || Number.isNaN(started)) return undefined;
  return {
    name,
    at,
    started,
    ...number("nanoCores", cpu?.usageNanoCores),
    ...number("coreNanoSeconds", cpu?.usageCoreNanoSeconds),
    ...number("workingSetBytes", memory?.workingSetBytes),
    ...number("usageBytes", memory?.usageBytes),
    ...number("rssBytes", memory?.rssBytes),
  };
}

function number(field: string, value: unknown): Record<string, number> {
  return typeof value === "number" ? { [field]: value } : {};
}
