import type { FilterPlugin, ScorePlugin } from "../plugin.ts";
import { imageLocality } from "./image-locality.ts";
import { interPodAffinity, interPodAffinityScore } from "./inter-pod-affinity.ts";
import { nodeAffinity, nodeAffinityScore } from "./node-affinity.ts";
import { nodeName } from "./node-name.ts";
import { nodePorts } from "./node-ports.ts";
import { balancedAllocation, leastAllocated, nodeResources } from "./node-resources.ts";
import { nodeUnschedulable } from "./node-unschedulable.ts";
import { taintToleration, taintTolerationScore } from "./taint-toleration.ts";
import { topologySpread, topologySpreadScore } from "./topology-spread.ts";
import { volumeBinding, volumeRestrictions } from "./volumes.ts";

export interface Plugins {
  readonly filters: readonly FilterPlugin[];
  readonly scores: readonly ScorePlugin[];
}

/** In Kubernetes' order: the first that refuses a node gives the reason. */
export const defaultPlugins: Plugins = {
  filters: [
    nodeUnschedulable,
    nodeName,
    taintToleration,
    nodeAffinity,
    nodePorts,
    nodeResources,
    volumeRestrictions,
    volumeBinding,
    topologySpread,
    interPodAffinity,
  ],
  scores: [
    taintTolerationScore,
    nodeAffinityScore,
    leastAllocated,
    topologySpreadScore,
    interPodAffinityScore,
    balancedAllocation,
    imageLocality,
  ],
};
