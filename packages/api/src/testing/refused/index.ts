import { refusedContracts } from "./contract.ts";
import { refusedShadowPods, refusedTwinNamespaces } from "./guest.ts";
import { refusedAddressPlans, refusedExports, refusedImports, refusedLinks } from "./network.ts";
import { refusedOffloadingRules, refusedOffloadings } from "./offloading.ts";
import { refusedPeerings, refusedVirtualNodes } from "./peering.ts";
import type { Refusal } from "./refusal.ts";
import { refusedSites } from "./site.ts";

export type { Refusal } from "./refusal.ts";

/** What an API server must refuse, with which words. A test sees to it that no rule is missing. */
export const refusals: readonly Refusal[] = [
  ...refusedSites,
  ...refusedPeerings,
  ...refusedContracts,
  ...refusedVirtualNodes,
  ...refusedOffloadings,
  ...refusedOffloadingRules,
  ...refusedTwinNamespaces,
  ...refusedShadowPods,
  ...refusedAddressPlans,
  ...refusedLinks,
  ...refusedExports,
  ...refusedImports,
];
