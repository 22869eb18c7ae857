import type { NodeNetwork, SiteLayout } from "../site-layout.ts";
import { TooManyNodesError } from "./errors.ts";

/** One node as planned. */
export interface NodePlan {
  /** `site-1-node-1`, ... */
  readonly name: string;
  /** Counted from 1. */
  readonly index: number;
  /** On its site's bridge, of IPv4. */
  readonly address: string;
  /** By which its Node is known: of each family that pods have. */
  readonly addresses: readonly string[];
  /** The addresses of its pods, of each family that they have. */
  readonly podCidr: string;
  readonly podCidrs: readonly string[];
  /** The host's end of its cable, plugged into the bridge. */
  readonly link: string;
}

/** Nodes per site: the names of their links have two digits left for it. */
export const maxNodes = 99;

/** What is below is for the host and for whatever else may join the bridge. */
const firstNode = 10;

/** The nodes of a site: each has its own address on the bridge and its own 256 of the site's pod addresses, or a /64 of IPv6. */
export function planNodes(
  layout: Pick<SiteLayout, "name" | "podCidrs">,
  network: NodeNetwork,
  count: number,
): NodePlan[] {
  if (count > maxNodes) throw new TooManyNodesError({ site: layout.name, count, max: maxNodes });
  const bridge = firstAddress(network.cidr);
  return Array.from({ length: count }, (_, i) => {
    const address = formatAddress(bridge + firstNode + i + 1);
    const ipv6 = network.ipv6 && `${prefixOf(network.ipv6.cidr)}::${(firstNode + i + 1).toString(16)}`;
    const podCidrs = layout.podCidrs.map((podCidr) => nodeRange(podCidr, i));
    return {
      name: `${layout.name}-node-${i + 1}`,
      index: i + 1,
      address,
      addresses: podCidrs.map((range) => (isIpv6(range) && ipv6 ? ipv6 : address)),
      podCidr: podCidrs[0] ?? "",
      podCidrs,
      link: `${network.bridge}-${i + 1}`,
    };
  });
}

function nodeRange(podCidr: string, index: number): string {
  if (isIpv6(podCidr)) return `${prefixOf(podCidr)}:0:${index + 1}::/64`;
  return `${formatAddress(firstAddress(podCidr) + index * 256)}/24`;
}

/** Whether an address, or a range, is of IPv6. */
export function isIpv6(text: string): boolean {
  return text.includes(":");
}

/** `fd77:1` of `fd77:1::/48`. */
function prefixOf(cidr: string): string {
  return cidr.split("::")[0] ?? "";
}

/** The prefix length of a range: `24` for `198.18.7.0/24`. */
export function prefixLength(cidr: string): number {
  return Number(cidr.split("/")[1]);
}

function firstAddress(cidr: string): number {
  const [address = ""] = cidr.split("/");
  return address.split(".").reduce((value, part) => value * 256 + Number(part), 0);
}

function formatAddress(value: number): string {
  return [24, 16, 8, 0].map((shift) => Math.floor(value / 2 ** shift) % 256).join(".");
}
