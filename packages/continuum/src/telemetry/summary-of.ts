import type { Summary } from "@fjord/node/kubelet-api";
import type { OffloadedPod } from "../offloaded-pods.ts";
import type { NodeCounter } from "./node-counter.ts";
import type { ContainerUsage, PodUsage } from "./usage.ts";

type PodSummary = Summary["pods"][number];
type ContainerSummary = PodSummary["containers"][number];

/** What a site has said of all guests of this one. */
export interface SiteUsage {
  /** When it was asked. */
  readonly at: number;
  /** What to add to the site's times to get the own ones. */
  readonly skew: number;
  /** By `twin namespace/name`. */
  readonly pods: ReadonlyMap<string, PodUsage>;
}

/** A provider's words in those of a kubelet: only of pods that are on the node, and of containers that they have. */
export function summaryOf(
  node: string,
  pods: readonly OffloadedPod[],
  usage: SiteUsage,
  counter: NodeCounter,
): Summary {
  const summaries = pods.flatMap((offloaded) => podSummary(offloaded, usage) ?? []);
  const used = new Map<string, number>();
  for (const { podRef, containers } of summaries) {
    for (const { name, cpu } of containers)
      if (cpu?.usageCoreNanoSeconds !== undefined) used.set(`${podRef.uid}/${name}`, cpu.usageCoreNanoSeconds);
  }
  const containers = summaries.flatMap((pod) => pod.containers);
  const time = timeOf(usage.at);
  return {
    node: {
      nodeName: node,
      startTime: timeOf(counter.startedAt),
      cpu: {
        time,
        usageNanoCores: sum(containers.map(({ cpu }) => cpu?.usageNanoCores)),
        usageCoreNanoSeconds: counter.add(used),
      },
      memory: {
        time,
        usageBytes: sum(containers.map(({ memory }) => memory?.usageBytes)),
        workingSetBytes: sum(containers.map(({ memory }) => memory?.workingSetBytes)),
        rssBytes: sum(containers.map(({ memory }) => memory?.rssBytes)),
      },
    },
    pods: summaries,
  };
}

function podSummary({ pod, twinNamespace }: OffloadedPod, { pods, skew }: SiteUsage): PodSummary | undefined {
  const { name = "", namespace = "", uid = "" } = pod.metadata;
  const said = pods.get(`${twinNamespace}/${name}`);
  if (said === undefined) return undefined;
  const known = new Set(
    [pod.spec?.containers, pod.spec?.initContainers, pod.spec?.ephemeralContainers].flatMap((list) =>
      (list ?? []).map((container) => container.name),
    ),
  );
  const containers = said.containers.filter((each) => known.delete(each.name)).map((each) => inWords(each, skew));
  const last = containers.at(-1);
  if (last === undefined) return undefined;
  const time = last.cpu?.time ?? last.startTime;
  return {
    podRef: { name, namespace, uid },
    startTime: pod.status?.startTime ?? last.startTime,
    containers,
    cpu: {
      time,
      usageNanoCores: sum(containers.map(({ cpu }) => cpu?.usageNanoCores)),
      usageCoreNanoSeconds: sum(containers.map(({ cpu }) => cpu?.usageCoreNanoSeconds)),
    },
    memory: {
      time,
      usageBytes: sum(containers.map(({ memory }) => memory?.usageBytes)),
      workingSetBytes: sum(containers.map(({ memory }) => memory?.workingSetBytes)),
      rssBytes: sum(containers.map(({ memory }) => memory?.rssBytes)),
    },
  };
}

function inWords(usage: ContainerUsage, skew: number): ContainerSummary {
  const { name, nanoCores, coreNanoSeconds, workingSetBytes, usageBytes, rssBytes } = usage;
  const time = timeOf(usage.at + skew);
  return {
    name,
    startTime: timeOf(usage.started + skew),
    cpu: {
      time,
      ...(nanoCores !== undefined && { usageNanoCores: nanoCores }),
      ...(coreNanoSeconds !== undefined && { usageCoreNanoSeconds: coreNanoSeconds }),
    },
    memory: {
      time,
      ...(usageBytes !== undefined && { usageBytes }),
      ...(workingSetBytes !== undefined && { workingSetBytes }),
      ...(rssBytes !== undefined && { rssBytes }),
    },
  };
}

function sum(values: readonly (number | undefined)[]): number {
  let total = 0;
  for (const value of values) total += value ?? 0;
  return Math.min(total, Number.MAX_SAFE_INTEGER);
}

function timeOf(ms: number): string {
  return new Date(ms).toISOString();
}
