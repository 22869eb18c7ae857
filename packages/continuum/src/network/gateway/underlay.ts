import { isIP } from "node:net";
import { type Clock, steadyNow } from "@fjord/base";
import type { NodeNetwork } from "./node-network.ts";

/** What WireGuard puts around a packet, with UDP and IP. */
const AROUND = { 4: 60, 6: 80 } as const;
const LASTS_MS = 30_000;
/** Nobody has asked for it in so long. */
const FORGOTTEN_MS = 600_000;
/** In one round, so that others are not kept waiting by a thousand peers. */
const LOOKS = 16;

/**
 * What the node itself knows of the ways to peers' endpoints: how large packets its interfaces take, and what routers in between have told it. Probes do not see
 * that: the kernel sends one packet in several pieces, but refuses many at once of which each is too large.
 */
export class Underlay {
  readonly #network: Pick<NodeNetwork, "ip">;
  readonly #clock: Clock;
  #looks = LOOKS;
  readonly #known = new Map<string, Known>();

  constructor(network: Pick<NodeNetwork, "ip">, clock: Clock) {
    this.#network = network;
    this.#clock = clock;
  }

  /** Another round begins. */
  turn(): void {
    this.#looks = LOOKS;
    const now = steadyNow(this.#clock);
    for (const [each, { at }] of this.#known) if (now - at >= FORGOTTEN_MS) this.#known.delete(each);
  }

  /** The largest packet that WireGuard can send to an endpoint in one piece, which is an address and a port; undefined where that is not known. */
  async largestTo(endpoint: string): Promise<number | undefined> {
    const address = addressOf(endpoint);
    const whole = (await this.#look(address)).mtu;
    return whole === undefined ? undefined : whole - AROUND[isIP(address) as 4 | 6];
  }

  /** The address from which the node sends to an endpoint; undefined where that is not known. */
  async sourceTo(endpoint: string): Promise<string | undefined> {
    return (await this.#look(addressOf(endpoint))).source;
  }

  async #look(address: string): Promise<Omit<Known, "at">> {
    const family = isIP(address);
    if (family !== 4 && family !== 6) return {};
    const now = steadyNow(this.#clock);
    const known = this.#known.get(address);
    if (this.#looks === 0 || (known !== undefined && now - known.at < LASTS_MS)) return known ?? {};
    this.#looks--;
    const seen = await this.#routeTo(address, family).catch(() => ({}));
    this.#known.set(address, { at: now, ...seen });
    return seen;
  }

  async #routeTo(address: string, family: 4 | 6): Promise<Omit<Known, "at">> {
    const [route] = JSON.parse(await this.#network.ip(`-${family}`, "-json", "route", "get", address)) as RouteJson[];
    if (route === undefined) return {};
    const source = route.prefsrc === undefined ? {} : { source: route.prefsrc };
    const told = route.metrics?.find(({ mtu }) => mtu !== undefined)?.mtu;
    if (told !== undefined) return { ...source, mtu: told };
    const [link] = JSON.parse(await this.#network.ip("-json", "link", "show", "dev", route.dev)) as { mtu: number }[];
    return { ...source, ...(link && { mtu: link.mtu }) };
  }
}

function addressOf(endpoint: string): string {
  return endpoint.slice(0, endpoint.lastIndexOf(":")).replace(/^\[|\]$/g, "");
}

/** What was seen of the way to an address, and when. */
interface Known {
  readonly at: number;
  /** Of the whole packet. */
  readonly mtu?: number;
  readonly source?: string;
}

interface RouteJson {
  readonly dev: string;
  readonly prefsrc?: string;
  readonly metrics?: readonly { readonly mtu?: number }[];
}
