import type { FjordKind } from "../kind.ts";
import { AddressPlan } from "./address-plan.ts";
import { Contract } from "./contract.ts";
import { Export } from "./export.ts";
import { Import } from "./import.ts";
import { Link } from "./link.ts";
import { Offloading } from "./offloading.ts";
import { OffloadingRule } from "./offloading-rule.ts";
import { Peering } from "./peering.ts";
import { ShadowPod } from "./shadow-pod.ts";
import { keptObjects, Site } from "./site.ts";
import { TwinNamespace } from "./twin-namespace.ts";
import { VirtualNode } from "./virtual-node.ts";

export {
  AddressPlan,
  Contract,
  Export,
  Import,
  keptObjects,
  Link,
  Offloading,
  OffloadingRule,
  Peering,
  ShadowPod,
  Site,
  TwinNamespace,
  VirtualNode,
};

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
  AddressPlan,
  Link,
  Export,
  Import,
];
