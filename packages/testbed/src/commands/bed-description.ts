import { DEFAULT_MINOR, type Substrate } from "../binaries/index.ts";
import { type Kubelet, kubeletOf } from "../nodes/kubelet-command.ts";
import { usualKubelet } from "../nodes/node-services.ts";
import type { BedState } from "../state.ts";

/** What a bed is made of, as far as `up` was told. */
export interface BedMake {
  sites: number;
  /** Of each site. */
  nodes: number;
  /** What runs the pods of real nodes. @default Kubernetes' own, or on microkube Fjord's */
  kubelet?: Kubelet;
  /** Of each site. */
  simulatedNodes: number;
  overlap: boolean;
  /** Taken by the sites in turn. */
  kubernetes?: readonly Substrate[];
}

/** A bed that runs, in words. Equal beds have equal words, and others do not. */
export function describeBed({ sites, processes, simulatedNodes = 0 }: BedState): string {
  const kubelets = processes.filter(({ name }) => name.endsWith("-kubelet"));
  return describeAsked({
    sites: sites.length,
    nodes: kubelets.length / sites.length,
    kubelet: kubeletOf(kubelets[0]?.args ?? []),
    simulatedNodes,
    overlap: sites.length > 1 && sites[0]?.podCidr === sites[1]?.podCidr,
    kubernetes: sites.map(({ kubernetes }) => kubernetes),
  });
}

/** A bed that is asked for, in the same words. */
export function describeAsked(make: BedMake): string {
  const { sites, nodes, simulatedNodes, kubernetes = [DEFAULT_MINOR] } = make;
  const minors = Array.from({ length: sites }, (_, i) => kubernetes[i % kubernetes.length]);
  const kubelet = make.kubelet ?? usualKubelet(minors[0] ?? DEFAULT_MINOR);
  const features = [
    nodes > 0 && `${plural(nodes, kubelet === "fjord" ? "Fjord node" : "real node")} each`,
    simulatedNodes > 0 && `${plural(simulatedNodes, "simulated node")} each`,
    make.overlap && sites > 1 && "equal ranges",
  ].filter((each) => each !== false);
  const more = features.length === 0 ? "" : ` with ${features.join(" and ")}`;
  // Where they differ, which site has which matters.
  return `${plural(sites, "site")} of ${new Set(minors).size === 1 ? minors[0] : minors.join(", ")}${more}`;
}

/** `1 site`, `2 sites`. */
export function plural(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? "" : "s"}`;
}
