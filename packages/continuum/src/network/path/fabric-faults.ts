import type { AddressPlan, Link, Site } from "@fjord/api";
import { fabricOf } from "../fabric/fabric.ts";
import { networkState } from "../network-state-of.ts";

/** Peers that a gateway would leave out, by id, and why: the gateway itself computes it so. */
export function fabricFaults(
  site: Site | undefined,
  plans: readonly AddressPlan[],
  links: readonly Link[],
): ReadonlyMap<string, string> {
  if (site === undefined) return new Map();
  return fabricOf(networkState(site, plans, links), { interfacePrefix: "fjord" }).faults;
}
