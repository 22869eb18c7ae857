import type { PublishedFacts } from "../../protocol.ts";
import type { RemoteSites } from "../../remote-site.ts";
import type { SiteId } from "../../site-identity.ts";

export interface LoopbackGuestsOptions {
  /** An address of a Service of the own cluster. */
  readonly service: string;
  readonly sites: Pick<RemoteSites, "get">;
  /** Where a peer is dialled. */
  readonly endpointsOf: (id: SiteId) => readonly string[];
  /** Of the own pods. */
  readonly ownRanges: () => PublishedFacts["loopbackRanges"];
}

interface Range {
  readonly first: number;
  readonly last: number;
}

/** The narrowest prefix of a range that counts: one site is no larger. */
const SHORTEST_PREFIX = 16;

/**
 * Which addresses of this machine's loopback are believed to be guests'. Elsewhere it is none: whoever names one has the own
 * cluster talk to whatever listens here. On a home whose Services are on loopback, and its pods therefore processes of the
 * machine, a site of the same machine has its pods there too. Whoever is dialled on loopback is of the same machine, and could
 * forward to any address of it by itself: that it names only its own keeps mistakes, and peers behind a forwarded port, from
 * standing for the machine's own servers, the own Services, or the own pods.
 */
export class LoopbackGuests {
  readonly #options: LoopbackGuestsOptions;

  constructor(options: LoopbackGuestsOptions) {
    this.#options = options;
  }

  allows(id: SiteId, address: string): boolean {
    const { service, sites, endpointsOf, ownRanges } = this.#options;
    const at = numberOf(address);
    const services = rangeOf(`${service}/16`);
    if (at === undefined || services === undefined || !isOfThisMachine(endpointsOf(id))) return false;
    const taken = [MACHINE, services, ...rangesOf(ownRanges())];
    const announced = rangesOf(sites.get(id)?.report?.published.loopbackRanges);
    return announced.some((range) => contains(range, at)) && !taken.some((range) => contains(range, at));
  }
}

/** Where a machine's own servers listen: 127.0.0.1, and resolvers beside it. */
const MACHINE: Range = { first: 127 * 2 ** 24, last: 127 * 2 ** 24 + 0xffff };

function isOfThisMachine(endpoints: readonly string[]): boolean {
  return endpoints.length > 0 && endpoints.every((each) => numberOf(URL.parse(each)?.hostname ?? "") !== undefined);
}

function rangesOf(texts: readonly string[] = []): Range[] {
  return texts.flatMap((text) => rangeOf(text) ?? []);
}

function rangeOf(text: string): Range | undefined {
  const [address = "", prefix = ""] = text.split("/");
  const at = numberOf(address);
  const bits = /^\d{1,2}$/.test(prefix) ? Number(prefix) : 0;
  if (at === undefined || bits < SHORTEST_PREFIX || bits > 32) return undefined;
  const size = 2 ** (32 - bits);
  const first = Math.floor(at / size) * size;
  return { first, last: first + size - 1 };
}

/** Of an address on loopback; undefined for any other. */
function numberOf(address: string): number | undefined {
  const parts = address.split(".");
  const isAddress = parts.length === 4 && parts[0] === "127" && parts.every((part) => /^\d{1,3}$/.test(part));
  if (!isAddress || parts.some((part) => Number(part) > 255)) return undefined;
  return parts.reduce((sum, part) => sum * 256 + Number(part), 0);
}

function contains({ first, last }: Range, at: number): boolean {
  return first <= at && at <= last;
}
