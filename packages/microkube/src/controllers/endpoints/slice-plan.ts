import type { EndpointSlice } from "@fjord/kube";
import { sameValue } from "../same-value.ts";
import { canonical } from "../workload/template-hash.ts";
import type { AddressType, Endpoint, EndpointPort } from "./endpoint-forge.ts";

export const MOST_PER_SLICE = 100;

/** Endpoints of one family that all have the same ports. */
export interface EndpointGroup {
  readonly addressType: AddressType;
  readonly ports: readonly EndpointPort[];
  readonly endpoints: Endpoint[];
}

export interface SlicePlan {
  readonly create: EndpointSlice[];
  /** With the metadata of those they replace. */
  readonly update: EndpointSlice[];
  readonly delete: EndpointSlice[];
}

export interface SlicePlanInput {
  readonly groups: readonly EndpointGroup[];
  readonly existing: readonly EndpointSlice[];
  /** A slice without endpoints. */
  readonly forge: (addressType: AddressType, ports: readonly EndpointPort[]) => EndpointSlice;
  readonly isOwned: (slice: EndpointSlice) => boolean;
  /** Families for which there is an empty slice where there are no endpoints. */
  readonly placeholders?: readonly AddressType[];
}

/** As few writes as will do: endpoints stay in the slices they are in, and slices that would go are used again. */
export function planSlices({ groups, existing, forge, isOwned, placeholders = [] }: SlicePlanInput): SlicePlan {
  const create: EndpointSlice[] = [];
  const update: EndpointSlice[] = [];
  const unused = existing.filter((slice) => !isOwned(slice));
  const byGroup = new Map<string, EndpointSlice[]>();
  for (const slice of existing.filter(isOwned)) {
    const key = groupKey(slice.addressType as AddressType, slice.ports ?? []);
    byGroup.set(key, [...(byGroup.get(key) ?? []), slice]);
  }
  for (const group of groups) {
    const key = groupKey(group.addressType, group.ports);
    const slices = byGroup.get(key) ?? [];
    byGroup.delete(key);
    if (group.endpoints.length === 0) {
      unused.push(...slices);
      continue;
    }
    distribute(group, slices, forge(group.addressType, group.ports), { create, update, unused });
  }
  for (const slices of byGroup.values()) unused.push(...slices);
  addPlaceholders(placeholders, existing, forge, { create, unused });
  return reuse({ create, update, delete: unused }, isOwned);
}

function distribute(
  { endpoints }: EndpointGroup,
  slices: readonly EndpointSlice[],
  empty: EndpointSlice,
  plan: { create: EndpointSlice[]; update: EndpointSlice[]; unused: EndpointSlice[] },
): void {
  const wanted = new Map(endpoints.map((endpoint) => [endpointKey(endpoint), endpoint]));
  const drafts = slices.map((slice) => {
    const before = slice.endpoints ?? [];
    const kept: Endpoint[] = [];
    for (const old of before) {
      const key = endpointKey(old);
      const endpoint = wanted.get(key);
      if (endpoint === undefined) continue;
      wanted.delete(key);
      // Hints are somebody else's business.
      kept.push(old.hints === undefined ? endpoint : { ...endpoint, hints: old.hints });
    }
    const changed = !sameValue(kept, before);
    return { slice, kept, changed: changed || !sameLabels(slice, empty) };
  });
  const left = [...wanted.values()];
  // Fullest first, and first those that are written anyway.
  const fillable = drafts.toSorted((a, b) => Number(b.changed) - Number(a.changed) || b.kept.length - a.kept.length);
  for (const draft of fillable) {
    const room = MOST_PER_SLICE - draft.kept.length;
    if (left.length === 0) break;
    if (draft.kept.length === 0 || room <= 0 || (!draft.changed && room < left.length)) continue;
    draft.kept.push(...left.splice(0, room));
    draft.changed = true;
  }
  for (const draft of drafts.filter(({ kept }) => kept.length === 0)) {
    draft.kept.push(...left.splice(0, MOST_PER_SLICE));
  }
  for (const { slice, kept, changed } of drafts) {
    if (kept.length === 0) plan.unused.push(slice);
    else if (changed) plan.update.push(updated(slice, { ...empty, endpoints: kept }));
  }
  while (left.length > 0) plan.create.push({ ...empty, endpoints: left.splice(0, MOST_PER_SLICE) });
}

function addPlaceholders(
  types: readonly AddressType[],
  existing: readonly EndpointSlice[],
  forge: SlicePlanInput["forge"],
  { create, unused }: { create: EndpointSlice[]; unused: EndpointSlice[] },
): void {
  for (const type of types) {
    const isOfType = ({ addressType }: EndpointSlice) => addressType === type;
    const stays = existing.some((slice) => isOfType(slice) && !unused.includes(slice));
    if (stays || create.some(isOfType)) continue;
    const placeholder = forge(type, []);
    const index = unused.findIndex(
      (slice) => isOfType(slice) && isPlaceholder(slice) && sameLabels(slice, placeholder),
    );
    if (index >= 0) unused.splice(index, 1);
    else create.push(placeholder);
  }
}

function isPlaceholder({ ports = [], endpoints }: EndpointSlice): boolean {
  return (ports?.length ?? 0) === 0 && (endpoints?.length ?? 0) === 0;
}

/** An update instead of a creation and a deletion. */
function reuse(plan: SlicePlan, isOwned: (slice: EndpointSlice) => boolean): SlicePlan {
  const create: EndpointSlice[] = [];
  const update = [...plan.update];
  const unused = [...plan.delete];
  for (const wanted of plan.create) {
    const index = unused.findIndex((slice) => isOwned(slice) && slice.addressType === wanted.addressType);
    const [old] = index >= 0 ? unused.splice(index, 1) : [];
    if (old === undefined) create.push(wanted);
    else update.push(updated(old, wanted));
  }
  return { create, update, delete: unused };
}

function updated(old: EndpointSlice, wanted: EndpointSlice): EndpointSlice {
  const { labels, annotations } = wanted.metadata;
  return { ...wanted, metadata: { ...old.metadata, labels, ...(annotations && { annotations }) } };
}

function sameLabels(a: EndpointSlice, b: EndpointSlice): boolean {
  return sameValue(a.metadata.labels ?? {}, b.metadata.labels ?? {});
}

function groupKey(addressType: string, ports: readonly EndpointPort[]): string {
  const plain = ports.map(({ name = "", port, protocol = "TCP", appProtocol }) =>
    canonical({ name, port, protocol, appProtocol }),
  );
  return `${addressType} ${plain.toSorted().join(" ")}`;
}

function endpointKey({ addresses, targetRef, nodeName = "", hostname = "" }: Endpoint): string {
  return [addresses.join(), targetRef?.uid ?? targetRef?.name ?? "", nodeName, hostname].join("|");
}
