import type { AddressPlan } from "@fjord/api";
import type { Pod } from "@fjord/kube";
import { contains, formatRange, type IpRange } from "./ip-range.ts";
import type { Group } from "./network-state.ts";
import { parseAddress, parseCidrs } from "./ranges.ts";

type PlanSpec = AddressPlan["spec"];

/** A namespace that has a twin at the peer, with all of its pods. */
export interface SharedNamespace {
  readonly name: string;
  readonly pods: readonly Pod[];
  /** Whether a pod is bound to a node that stands for the peer. */
  isThere(pod: Pod): boolean;
  /** Whether a pod is bound to a node that stands for any peer. */
  isElsewhere(pod: Pod): boolean;
}

/** At the consumer: each namespace's pods here may talk with its pods there. */
export function consumerGroups(plan: PlanSpec, namespaces: readonly SharedNamespace[]): Group[] {
  const here = parseCidrs(plan.own.map(({ range }) => range));
  const there = parseCidrs(plan.peer.flatMap(({ called }) => called ?? []));
  return namespaces
    .map(({ name, pods, isThere, isElsewhere }) => ({
      name,
      local: addressesOf(
        pods.filter((pod) => !isElsewhere(pod)),
        here,
      ),
      remote: addressesOf(pods.filter(isThere), there),
    }))
    .filter(hasBoth)
    .sort(byName);
}

/** At the provider: each of the consumer's guests may talk with the consumer's pods, of which its own side says which. */
export function providerGroups(plan: PlanSpec, guests: readonly Pod[]): Group[] {
  const here = parseCidrs(plan.own.map(({ range }) => range));
  const remote = plan.peer.flatMap(({ called }) => called ?? []);
  const byTwin = Map.groupBy(guests, ({ metadata }) => metadata.namespace ?? "");
  return [...byTwin]
    .map(([name, pods]) => ({ name, local: addressesOf(pods, here), remote }))
    .filter(hasBoth)
    .sort(byName);
}

/** Of pods that run and have addresses of their own, each once, in order: the same pods always give the same. */
function addressesOf(pods: readonly Pod[], ranges: readonly IpRange[]): string[] {
  const found = pods.filter(hasOwnAddress).flatMap(({ status }) => {
    const addresses = status?.podIPs?.map(({ ip }) => ip) ?? [status?.podIP];
    return addresses.flatMap((text) => {
      const address = parseAddress(text ?? "");
      return address !== undefined && ranges.some((range) => contains(range, address)) ? [formatRange(address)] : [];
    });
  });
  return [...new Set(found)].sort();
}

function hasOwnAddress({ spec, status }: Pod): boolean {
  return spec?.hostNetwork !== true && status?.phase !== "Succeeded" && status?.phase !== "Failed";
}

function hasBoth({ local, remote }: Group): boolean {
  return local.length > 0 && remote.length > 0;
}

function byName(one: Group, other: Group): number {
  return one.name < other.name ? -1 : 1;
}
