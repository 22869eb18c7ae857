import type { Clock } from "@fjord/base";
import type { Endpoint } from "./service-plan.ts";

/** Clients that are remembered at most, per service port. */
const MOST_CLIENTS = 10_000;

/** Picks endpoints in turn; with affinity a client keeps its own while that is there. */
export class Balancer {
  readonly #clock: Clock;
  readonly #clients = new Map<string, { endpoint: Endpoint; until: number }>();
  #endpoints: readonly Endpoint[] = [];
  #affinityMs: number | undefined;
  #turn = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  set(endpoints: readonly Endpoint[], affinitySeconds: number | undefined): void {
    this.#endpoints = endpoints;
    this.#affinityMs = affinitySeconds === undefined ? undefined : affinitySeconds * 1000;
    if (affinitySeconds === undefined) this.#clients.clear();
  }

  /** `avoid`: endpoints that were tried just now and did not answer. */
  pick(client: string, avoid: ReadonlySet<Endpoint> = new Set()): Endpoint | undefined {
    const kept = this.#kept(client);
    if (kept !== undefined && !avoid.has(kept)) return this.#keep(client, kept);
    for (let i = 0; i < this.#endpoints.length; i++) {
      const endpoint = this.#endpoints[this.#turn++ % this.#endpoints.length];
      if (endpoint !== undefined && !avoid.has(endpoint)) return this.#keep(client, endpoint);
    }
    return undefined;
  }

  #kept(client: string): Endpoint | undefined {
    const kept = this.#clients.get(client);
    if (kept === undefined || kept.until <= this.#clock.now()) return undefined;
    return this.#endpoints.find(({ ip, port }) => ip === kept.endpoint.ip && port === kept.endpoint.port);
  }

  #keep(client: string, endpoint: Endpoint): Endpoint {
    if (this.#affinityMs === undefined) return endpoint;
    this.#clients.delete(client);
    this.#clients.set(client, { endpoint, until: this.#clock.now() + this.#affinityMs });
    if (this.#clients.size > MOST_CLIENTS) this.#clients.delete(this.#clients.keys().next().value ?? "");
    return endpoint;
  }
}
