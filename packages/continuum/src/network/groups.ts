import { type AddressPlan, CONSUMER_LABEL } from "@fjord/api";
import type { Change, Pod } from "@fjord/kube";
import { calledRanges } from "./address-plan.ts";
import type { ExportEntry } from "./export-entries.ts";
import { contains, formatRange, type IpRange } from "./ip-range.ts";
import { EXPORT_RANGES, MACHINE_ADDRESSES } from "./link-address.ts";
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
  /** What stands for what it imports of the own site: its pods here need no link for that. @default nothing */
  readonly exported?: readonly string[];
}

/** At the consumer: each namespace's pods here, and what it imports of this site, may talk with its pods there. */
export function consumerGroups(plan: PlanSpec, namespaces: readonly SharedNamespace[]): Group[] {
  const here = namedHere(plan);
  const there = calledRanges(plan);
  return namespaces
    .map(({ name, pods, isThere, isElsewhere, exported = [] }) => ({
      name,
      local: [
        ...addressesOf(
          pods.filter((pod) => !isElsewhere(pod)),
          here,
        ),
        ...[...new Set(within(exported, here))].sort(),
      ],
      remote: addressesOf(pods.filter(isThere), there),
    }))
    .filter(hasBoth)
    .sort(byName);
}

/**
 * At the consumer: its machines, by what stands for them, with all pods there, of which the provider says which are the consumer's. The firewall lets nobody begin
 * with them.
 */
export function machineGroups(plan: PlanSpec): Group[] {
  const local = within(Object.values(MACHINE_ADDRESSES), namedHere(plan));
  const exported = Object.values(EXPORT_RANGES).map(formatRange);
  const remote = plan.peer.flatMap(({ range, called }) => (exported.includes(range) ? [] : (called ?? [])));
  return [{ name: "fjord.dev/machines", local, remote }].filter(hasBoth);
}

/** At the provider: each of the consumer's guests may talk with the consumer's pods, of which its own side says which. */
export function providerGroups(plan: PlanSpec, guests: readonly Pod[]): Group[] {
  const here = namedHere(plan);
  const remote = plan.peer.flatMap(({ called }) => called ?? []);
  const byTwin = Map.groupBy(guests, ({ metadata }) => metadata.namespace ?? "");
  return [...byTwin]
    .map(([name, pods]) => ({ name, local: addressesOf(pods, here), remote }))
    .filter(hasBoth)
    .sort(byName);
}

/** Addresses of a consumer's guests here. */
export function guestAddresses(plan: PlanSpec, guests: readonly Pod[]): string[] {
  return addressesOf(guests, namedHere(plan));
}

/** At the exporter: what the peer may reach, which of its pods may is the peer's to say. */
export function exporterGroups(plan: PlanSpec, entries: readonly Pick<ExportEntry, "addresses">[]): Group[] {
  const here = namedHere(plan);
  const local = entries.flatMap(({ addresses }) => within(addresses, here));
  const remote = plan.peer.flatMap(({ called }) => called ?? []);
  return [{ name: "fjord.dev/exports", local: [...new Set(local)].sort(), remote }].filter(hasBoth);
}

/** A namespace with Imports from the peer. */
export interface ImportingNamespace {
  readonly name: string;
  /** Those that run here. */
  readonly pods: readonly Pod[];
  /** What stands for the imports here. */
  readonly addresses: readonly string[];
}

/** At the importer: pods of each namespace that imports something, with what it imports. */
export function importerGroups(plan: PlanSpec, namespaces: readonly ImportingNamespace[]): Group[] {
  const [here, there] = [namedHere(plan), calledRanges(plan)];
  return namespaces
    .map(({ name, pods, addresses }) => ({
      name: `fjord.dev/imports/${name}`,
      local: addressesOf(pods, here),
      remote: [...new Set(within(addresses, there))].sort(),
    }))
    .filter(hasBoth)
    .sort(byName);
}

/** The own ranges that the peer has names for. */
function namedHere({ own }: PlanSpec): IpRange[] {
  return parseCidrs(own.flatMap(({ range, called }) => (called === undefined ? [] : range)));
}

function within(texts: readonly string[], ranges: readonly IpRange[]): string[] {
  return texts.flatMap((text) => {
    const address = parseAddress(text);
    return address !== undefined && ranges.some((range) => contains(range, address)) ? [formatRange(address)] : [];
  });
}

/** Of pods that run here, what the peer has names for. */
export function localAddresses(plan: PlanSpec, pods: readonly Pod[]): string[] {
  return addressesOf(pods, namedHere(plan));
}

/** Of pods that run and have addresses of their own, each once, in order: the same pods always give the same. */
function addressesOf(pods: readonly Pod[], ranges: readonly IpRange[]): string[] {
  const found = pods.flatMap((pod) => within(ownAddresses(pod), ranges));
  return [...new Set(found)].sort();
}

export function podAddresses({ status }: Pod): string[] {
  return status?.podIPs?.map(({ ip }) => ip) ?? [status?.podIP ?? ""];
}

/** Whether groups may be others for a change of this pod: most of what is heard of one is about neither. */
export function changesAddresses(change: Change<Pod>): boolean {
  if (change.type !== "update") return true;
  const [before, now] = [change.old, change.object];
  const isSame = before.metadata.labels?.[CONSUMER_LABEL] === now.metadata.labels?.[CONSUMER_LABEL];
  return !isSame || ownAddresses(before).join() !== ownAddresses(now).join();
}

function ownAddresses(pod: Pod): string[] {
  return hasOwnAddress(pod) ? podAddresses(pod) : [];
}

export function hasOwnAddress({ spec, status }: Pod): boolean {
  return spec?.hostNetwork !== true && status?.phase !== "Succeeded" && status?.phase !== "Failed";
}

function hasBoth({ local, remote }: Group): boolean {
  return local.length > 0 && remote.length > 0;
}

function byName(one: Group, other: Group): number {
  return one.name < other.name ? -1 : 1;
}
