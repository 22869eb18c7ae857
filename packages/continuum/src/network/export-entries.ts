import type { Export, Import, StatusOf } from "@fjord/api";
import { setCondition } from "@fjord/kube";
import type { ExportedFacts } from "../protocol.ts";
import type { ExportedService } from "./exported-services.ts";
import { contains, type Family, formatAddress, formatRange, type IpRange, overlaps } from "./ip-range.ts";
import { EXPORT_RANGES, LINK_RANGES, RELAY_RANGE } from "./link-address.ts";
import { SPECIAL } from "./names.ts";
import { parseAddress, sizeOf } from "./ranges.ts";

const { createHash } = process.getBuiltinModule("node:crypto");

/** So many a peer is told of. */
export const MOST_TOLD = 128;

export type ExportStatus = StatusOf<typeof Export>;
export type ExportEntry = NonNullable<ExportStatus["entries"]>[number];

/** Of what a site exports, what the peers with these names may reach; in order. */
export function entriesFor(exports: readonly Export[], siteNames: readonly string[]): ExportEntry[] {
  const entries = exports
    .filter(
      ({ spec, metadata }) =>
        metadata.deletionTimestamp === undefined && spec.sites.some((name) => siteNames.includes(name)),
    )
    .flatMap(({ status }) => status?.entries ?? []);
  // Two Exports may have the same Service.
  return [...new Map(entries.map((entry) => [entry.name, entry])).values()]
    .sort((one, other) => (one.name < other.name ? -1 : 1))
    .slice(0, MOST_TOLD);
}

/** What namespaces of the own site import of that itself, by namespace: their guests may reach it. */
export function ownImports(
  exports: readonly Export[],
  imports: readonly Import[],
  own: { readonly id: string; readonly names: readonly string[] },
): Map<string, ExportEntry[]> {
  const entries = new Map(entriesFor(exports, own.names).map((entry) => [entry.name, entry]));
  const found = new Map<string, ExportEntry[]>();
  for (const { metadata, spec, status } of imports) {
    const entry = entries.get(spec.export);
    if (entry === undefined || status?.siteId !== own.id || metadata.deletionTimestamp !== undefined) continue;
    const { namespace = "" } = metadata;
    found.set(namespace, [...(found.get(namespace) ?? []), entry]);
  }
  return found;
}

/** What a peer is told of them: not where they lead. */
export function exportFacts(entries: readonly ExportEntry[]): ExportedFacts[] {
  return entries.map(({ name, addresses, ports }) => ({
    name,
    addresses: [...addresses],
    ports: ports.map(({ backends: _, ...port }) => port),
  }));
}

/** The ranges that their addresses are of. */
export function exportRanges(entries: readonly Pick<ExportEntry, "addresses">[]): IpRange[] {
  const families = new Set(entries.flatMap(({ addresses }) => addresses.map((each) => parseAddress(each)?.family)));
  return ([4, 6] as const).filter((family) => families.has(family)).map((family) => EXPORT_RANGES[family]);
}

/** What all Exports become, by name. An entry keeps its addresses; another one has none of them. `known` are the names of all sites. */
export function exportStatuses(
  exports: readonly Export[],
  servicesOf: (services: NonNullable<Export["spec"]["services"]>) => readonly ExportedService[],
  known: ReadonlySet<string>,
  now: number,
): Map<string, ExportStatus> {
  const taken = new Set(exports.flatMap(({ status }) => status?.entries ?? []).flatMap(({ addresses }) => addresses));
  const sorted = [...exports].sort((one, other) => ((one.metadata.name ?? "") < (other.metadata.name ?? "") ? -1 : 1));
  return new Map(
    sorted.map((each) => {
      const { services } = each.spec;
      const wish = services === undefined ? hostWish(each) : serviceWish(servicesOf(services));
      return [each.metadata.name ?? "", exportStatus(each, withStrangers(wish, each, known), taken, now)];
    }),
  );
}

type Reason = NonNullable<ExportStatus["conditions"]>[number]["reason"];

/** Where somebody is told of it. */
const READY: readonly Reason[] = ["Exported", "SomeLeftOut", "SomeSitesUnknown"];

/** What an Export asks for, before there are addresses for it. */
interface Wish {
  readonly entries: readonly (Omit<ExportEntry, "addresses"> & { readonly families: readonly Family[] })[];
  readonly reason: Reason;
  readonly message: string;
}

function hostWish({ metadata, spec }: Export): Wish {
  const { address = "", ports = [], masquerade = true } = spec.host ?? {};
  const host = parseAddress(address);
  const refusal = host === undefined ? "it is not an address" : refusalOf(host);
  if (host === undefined || refusal !== undefined)
    return { entries: [], reason: "AddressRefused", message: `${address}: ${refusal}` };
  const entry = {
    name: metadata.name ?? "",
    families: [host.family],
    masquerade,
    ports: ports.map((each) => ({
      ...(each.name !== undefined && { name: each.name }),
      protocol: each.protocol,
      port: each.port,
      backends: [{ address: formatRange(host), port: each.port }],
    })),
  };
  return { entries: [entry], reason: "Exported", message: "" };
}

function serviceWish(services: readonly ExportedService[]): Wish {
  const entries = services.slice(0, MOST_TOLD).map(({ ports, ...each }) => ({
    ...each,
    ports: ports.map((port) => ({ ...port, backends: [...port.backends] })),
  }));
  if (entries.length === 0)
    return { entries, reason: "NothingMatches", message: "no Service that could be exported matches" };
  const left = services.length - entries.length;
  if (left === 0) return { entries, reason: "Exported", message: "" };
  return { entries, reason: "SomeLeftOut", message: `${left} of ${services.length} Services are left out` };
}

/** Whom it names that nobody is called: most often a slip, which would be looked for at the other site. It may be met later. */
function withStrangers(wish: Wish, { spec }: Export, known: ReadonlySet<string>): Wish {
  const strangers = spec.sites.filter((name) => !known.has(name));
  if (strangers.length === 0) return wish;
  const told = `this site knows no site ${strangers.join(", ")}`;
  const message = wish.message === "" ? told : `${wish.message}; ${told}`;
  if (!READY.includes(wish.reason)) return { ...wish, message };
  if (strangers.length === spec.sites.length) return { ...wish, reason: "SitesUnknown", message };
  return { ...wish, reason: wish.reason === "Exported" ? "SomeSitesUnknown" : wish.reason, message };
}

function exportStatus(object: Export, wish: Wish, taken: Set<string>, now: number): ExportStatus {
  const { generation } = object.metadata;
  const entries = wish.entries.flatMap(({ families, ...entry }) => {
    const before = object.status?.entries?.find(({ name }) => name === entry.name)?.addresses ?? [];
    const addresses = families.flatMap((family) => keptOrNew(entry.name, family, before, taken) ?? []);
    return addresses.length === 0 ? [] : [{ ...entry, addresses }];
  });
  const isWhole = entries.length === wish.entries.length;
  const reason = isWhole ? wish.reason : "RangeExhausted";
  const { conditions } = setCondition(
    object.status?.conditions,
    {
      type: "Ready",
      status: READY.includes(reason) ? "True" : "False",
      reason,
      message: isWhole ? wish.message : "no address is left that could stand for it",
      ...(generation !== undefined && { observedGeneration: generation }),
    },
    now,
  );
  return { entries, conditions };
}

/** Why an address cannot be exported: it would be the gateway itself, everybody, or another way than a host's. */
function refusalOf(host: IpRange): string | undefined {
  if ([...LINK_RANGES, RELAY_RANGE, ...Object.values(EXPORT_RANGES)].some((range) => contains(range, host)))
    return "links use such addresses themselves";
  if (SPECIAL.some((range) => overlaps(range, host)))
    return "it means the own machine, its neighbours, everyone or nobody, and not a host";
  return undefined;
}

/** By its name, so that what is made again is found where it was. */
function keptOrNew(name: string, family: Family, before: readonly string[], taken: Set<string>): string | undefined {
  const range = EXPORT_RANGES[family];
  const kept = before.find((text) => {
    const address = parseAddress(text);
    return address !== undefined && contains(range, address);
  });
  if (kept !== undefined) return kept;
  const size = sizeOf(range);
  const start = BigInt(`0x${createHash("sha256").update(`fjord export ${name}`).digest("hex").slice(0, 12)}`);
  for (let step = 0n; step < size; step++) {
    const offset = (start + step) % size;
    const address = formatAddress(family, range.first + offset);
    // The first and the last of a range are no host's by custom.
    if (offset === 0n || offset === size - 1n || taken.has(address)) continue;
    taken.add(address);
    return address;
  }
  return undefined;
}
