import type { FjordKind } from "../kind.ts";
import { Contract } from "./contract.ts";
import { Offloading } from "./offloading.ts";
import { OffloadingRule } from "./offloading-rule.ts";
import { Peering } from "./peering.ts";
import { ShadowPod } from "./shadow-pod.ts";
import { Site } from "./site.ts";
import { TwinNamespace } from "./twin-namespace.ts";
import { VirtualNode } from "./virtual-node.ts";

export { Contract, Offloading, OffloadingRule, Peering, ShadowPod, Site, TwinNamespace, VirtualNode };

/** All of Fjord's kinds, in the order in which a reader meets them. */
export const kinds: readonly FjordKind[] = [
  Site,
  Peering,
  Contract,
  VirtualNode,
  Offloading,
  OffloadingRule,
  TwinNamespace,
  ShadowPod,
];
