import type { CalledRange, ExportedFacts, NetworkFacts } from "../protocol.ts";
import { MOST_TOLD } from "./export-entries.ts";
import { MOST_LANES } from "./fabric/lanes.ts";
import { contains, formatRange, type IpRange, overlaps } from "./ip-range.ts";
import { SPECIAL, sameSize } from "./names.ts";
import { isPlace } from "./place.ts";
import { formatCidr, parseAddress, parseCidr } from "./ranges.ts";

const MOST_RANGES = 16;
const MOST_ENDPOINTS = 8;
/** Nobody's pods need more, and the names of wider ranges would soon use up a pool. */
const WIDEST = { 4: 10, 6: 40 } as const;
const PROOF = /^[A-Za-z0-9_-]{43}$/;
const KEY = /^[A-Za-z0-9+/]{43}=$/;
const SITE_ID = /^[a-z2-7]{26}$/;
const MOST_LED = 128;
const MOST_CALLS = 256;
const MOST_PORTS = 64;
const EXPORT_NAME = /^[a-z0-9]([a-z0-9.-]*[a-z0-9])?(\/[a-z0-9]([a-z0-9-]*[a-z0-9])?)?$/;
const PORT_NAME = /^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/;
const HOST_AND_PORT = /^(\[[0-9a-f.:]+\]|[A-Za-z0-9.-]+):([1-9][0-9]{0,4})$/;

/** What a peer says of its network, with only what we know of, in the one form that we write; undefined where any of it is wrong. */
export function checkNetworkFacts(value: unknown): NetworkFacts | undefined {
  if (typeof value !== "object" || value === null) return undefined;
  const { publicKey, nextKey, keyProof, endpoints, lanes, ranges, names } = value as Record<string, unknown>;
  const { relay, fallback, leadsTo, sights, tcp, exports, meets, introduces, calls } = value as Record<string, unknown>;
  if (typeof publicKey !== "string" || !KEY.test(publicKey)) return undefined;
  if (nextKey !== undefined && (typeof nextKey !== "string" || !KEY.test(nextKey))) return undefined;
  if (keyProof !== undefined && (typeof keyProof !== "string" || !PROOF.test(keyProof))) return undefined;
  const places = listOf(endpoints, MOST_ENDPOINTS, endpointOf);
  const more =
    lanes === undefined ? [] : listOf(lanes, MOST_LANES - 1, (each) => listOf(each, MOST_ENDPOINTS, endpointOf));
  if (more === undefined) return undefined;
  const own = listOf(ranges, MOST_RANGES, podRangeOf);
  const called = listOf(names, MOST_RANGES, nameOf);
  if (places === undefined || own === undefined || called === undefined || own.length === 0) return undefined;
  if (own.some((one, index) => own.slice(index + 1).some((other) => overlaps(one, other)))) return undefined;
  if (new Set(called.map(({ range }) => range)).size < called.length) return undefined;
  const behind = relay === undefined ? undefined : relayOf(relay);
  if (relay !== undefined && behind === undefined) return undefined;
  const another = fallback === undefined ? undefined : relayOf(fallback);
  if (fallback !== undefined && another === undefined) return undefined;
  const led = leadsTo === undefined ? [] : listOf(leadsTo, MOST_LED, siteIdOf);
  const seen = sights === undefined ? [] : listOf(sights, MOST_LED, sightOf);
  if (led === undefined || seen === undefined || (tcp !== undefined && tcp !== true)) return undefined;
  const exported = exports === undefined ? [] : listOf(exports, MOST_TOLD, (each) => exportOf(each, own));
  if (exported === undefined) return undefined;
  const introduced = introduces === undefined ? [] : listOf(introduces, MOST_LED, siteIdOf);
  if (introduced === undefined) return undefined;
  const words = calls === undefined ? [] : listOf(calls, MOST_CALLS, calledRangeOf);
  if (words === undefined) return undefined;
  return {
    publicKey,
    ...(nextKey !== undefined && { nextKey }),
    ...(keyProof !== undefined && { keyProof }),
    endpoints: places,
    ...(more.length > 0 && { lanes: more }),
    ranges: own.map(formatCidr),
    names: called,
    ...(behind && { relay: behind }),
    ...(another && { fallback: another }),
    ...(led.length > 0 && { leadsTo: led }),
    ...(seen.length > 0 && { sights: seen }),
    ...(tcp === true && { tcp }),
    ...(exported.length > 0 && { exports: exported }),
    ...(meets === true && { meets }),
    ...(introduced.length > 0 && { introduces: introduced }),
    ...(words.length > 0 && { calls: words }),
  };
}

function calledRangeOf(value: unknown): CalledRange | undefined {
  const site = siteIdOf((value as Record<string, unknown> | null)?.site);
  const naming = nameOf(value);
  return site === undefined || naming === undefined ? undefined : { site, ...naming };
}

/** Of addresses that are the peer's: it cannot send anybody elsewhere. */
function exportOf(value: unknown, ranges: readonly IpRange[]): ExportedFacts | undefined {
  if (typeof value !== "object" || value === null) return undefined;
  const { name, addresses, ports } = value as Record<string, unknown>;
  if (typeof name !== "string" || name.length > 127 || !EXPORT_NAME.test(name)) return undefined;
  const places = listOf(addresses, 2, (each) => {
    const address = typeof each === "string" ? parseAddress(each) : undefined;
    return address !== undefined && ranges.some((range) => contains(range, address)) ? formatRange(address) : undefined;
  });
  const open = listOf(ports, MOST_PORTS, portOf);
  return places === undefined || open === undefined ? undefined : { name, addresses: places, ports: open };
}

function portOf(value: unknown): ExportedFacts["ports"][number] | undefined {
  if (typeof value !== "object" || value === null) return undefined;
  const { name, protocol, port } = value as Record<string, unknown>;
  if (protocol !== "TCP" && protocol !== "UDP") return undefined;
  if (name !== undefined && (typeof name !== "string" || !PORT_NAME.test(name))) return undefined;
  if (typeof port !== "number" || !Number.isInteger(port) || port < 1 || port > 65535) return undefined;
  return { ...(name !== undefined && { name }), protocol, port };
}

function siteIdOf(value: unknown): string | undefined {
  return typeof value === "string" && SITE_ID.test(value) ? value : undefined;
}

function sightOf(value: unknown): NonNullable<NetworkFacts["sights"]>[number] | undefined {
  if (typeof value !== "object" || value === null) return undefined;
  const { site, endpoint } = value as Record<string, unknown>;
  if (siteIdOf(site) === undefined || typeof endpoint !== "string" || !isPlace(endpoint)) return undefined;
  return { site: site as string, endpoint };
}

function relayOf(value: unknown): NetworkFacts["relay"] {
  if (typeof value !== "object" || value === null) return undefined;
  const { hub, port } = value as Record<string, unknown>;
  if (typeof hub !== "string" || !SITE_ID.test(hub)) return undefined;
  return typeof port === "number" && Number.isInteger(port) && port > 0 && port <= 65535 ? { hub, port } : undefined;
}

function podRangeOf(value: unknown): IpRange | undefined {
  const range = rangeOf(value);
  return range !== undefined && isPodRange(range) ? range : undefined;
}

/** Whether sites take a range for one of pods. */
export function isPodRange(range: IpRange): boolean {
  return range.length >= WIDEST[range.family] && !SPECIAL.some((each) => overlaps(each, range));
}

function nameOf(value: unknown): NetworkFacts["names"][number] | undefined {
  if (typeof value !== "object" || value === null) return undefined;
  const { range, called } = value as Record<string, unknown>;
  const [real, name] = [podRangeOf(range), podRangeOf(called)];
  if (real === undefined || name === undefined || !sameSize(real, name)) return undefined;
  return { range: formatCidr(real), called: formatCidr(name) };
}

function endpointOf(value: unknown): string | undefined {
  if (typeof value !== "string" || value.length > 262) return undefined;
  const port = Number(HOST_AND_PORT.exec(value)?.[2]);
  return port <= 65535 ? value : undefined;
}

function rangeOf(value: unknown): IpRange | undefined {
  return typeof value === "string" && value.length <= 64 ? parseCidr(value) : undefined;
}

/** All items as they are read; undefined where one cannot be, or there are too many. */
function listOf<Item>(value: unknown, most: number, read: (item: unknown) => Item | undefined): Item[] | undefined {
  if (!Array.isArray(value) || value.length > most) return undefined;
  const items = value.map(read).filter((item) => item !== undefined);
  return items.length === value.length ? items : undefined;
}
