import { isIP } from "node:net";
import type { Clock } from "@fjord/base";
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
  readonly #known = new Map<string, { readonly at: number; readonly mtu: number | undefined }>();

  constructor(network: Pick<NodeNetwork, "ip">, clock: Clock) {
    this.#network = network;
    this.#clock = clock;
  }

  /** Another round begins. */
  turn(): void {
    this.#looks = LOOKS;
    const now = this.#clock.now();
    for (const [each, { at }] of this.#known) if (now - at >= FORGOTTEN_MS) this.#known.delete(each);
  }

  /** The largest packet that WireGuard can send to an endpoint in one piece, which is an address and a port; undefined where that is not known. */
  async largestTo(endpoint: string): Promise<number | undefined> {
    const address = endpoint.slice(0, endpoint.lastIndexOf(":")).replace(/^\[|\]$/g, "");
    const family = isIP(address);
    if (family !== 4 && family !== 6) return undefined;
    const now = this.#clock.now();
    const known = this.#known.get(address);
    if (this.#looks === 0 || (known !== undefined && now - known.at < LASTS_MS)) return known?.mtu;
    this.#looks--;
    const whole = await this.#mtuTo(address, family).catch(() => undefined);
    const mtu = whole === undefined ? undefined : whole - AROUND[family];
    this.#known.set(address, { at: now, mtu });
    return mtu;
  }

  async #mtuTo(address: string, family: 4 | 6): Promise<number | undefined> {
    const [route] = JSON.parse(await this.#network.ip(`-${family}`, "-json", "route", "get", address)) as RouteJson[];
    const told = route?.metrics?.find(({ mtu }) => mtu !== undefined)?.mtu;
    if (route === undefined || told !== undefined) return told;
    const [link] = JSON.parse(await this.#network.ip("-json", "link", "show", "dev", route.dev)) as { mtu: number }[];
    return link?.mtu;
  }
}

interface RouteJson {
  readonly dev: string;
  readonly metrics?: readonly { readonly mtu?: number }[];
}
