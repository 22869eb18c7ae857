import { type Clock, describeError, type Logger } from "@fjord/base";
import type { LocalClients } from "../local-clients/index.ts";
import type { Endpoint, ServicePort } from "./service-plan.ts";
import { TcpListener } from "./tcp-listener.ts";
import { UdpListener } from "./udp-listener.ts";

export interface UserspaceProxyOptions {
  /** Where node ports are served. */
  readonly nodeAddresses: readonly string[];
  /** Told for whom connections are passed on. */
  readonly clients?: LocalClients;
  readonly clock: Clock;
  readonly logger: Logger;
}

interface Wanted {
  readonly protocol: "TCP" | "UDP";
  readonly ip: string;
  readonly port: number;
  readonly service: string;
  readonly endpoints: readonly Endpoint[];
  readonly affinitySeconds: number | undefined;
}

type Listener = { readonly service: string; readonly listener: TcpListener | UdpListener };

/**
 * Serves Services without any privilege: listens on their addresses, which are loopback ones, and carries each
 * connection to an endpoint. Open connections stay where they are whatever changes.
 */
export class UserspaceProxy {
  readonly #options: UserspaceProxyOptions;
  readonly #listeners = new Map<string, Listener>();
  /** Addresses that could not be had, so that each is complained of once. */
  readonly #refused = new Set<string>();

  constructor(options: UserspaceProxyOptions) {
    this.#options = options;
  }

  async apply(plan: readonly ServicePort[]): Promise<void> {
    const wanted = this.#wanted(plan);
    for (const [id, { service, listener }] of this.#listeners) {
      const next = wanted.get(id);
      if (next?.service === service) continue;
      this.#listeners.delete(id);
      if (listener instanceof TcpListener) listener.close(false);
      else listener.close();
    }
    await Promise.all([...wanted].map(([id, one]) => this.#serve(id, one)));
    for (const id of this.#refused) if (!wanted.has(id)) this.#refused.delete(id);
  }

  close(): void {
    for (const { listener } of this.#listeners.values()) listener.close(true);
    this.#listeners.clear();
  }

  #wanted(plan: readonly ServicePort[]): Map<string, Wanted> {
    const wanted = new Map<string, Wanted>();
    const add = (one: Wanted) => {
      const id = `${one.protocol} ${one.ip} ${one.port}`;
      // The first of two that claim the same address keeps it.
      if (!wanted.has(id)) wanted.set(id, one);
    };
    for (const { id: service, protocol, affinitySeconds, ...port } of plan) {
      const shared = { protocol, service, affinitySeconds };
      for (const ip of port.clusterIps) add({ ...shared, ip, port: port.port, endpoints: port.inside });
      for (const ip of port.externalIps) add({ ...shared, ip, port: port.port, endpoints: port.outside });
      if (port.nodePort === undefined) continue;
      for (const ip of this.#options.nodeAddresses) {
        add({ ...shared, ip, port: port.nodePort, endpoints: port.outside });
      }
    }
    return wanted;
  }

  async #serve(id: string, { protocol, ip, port, service, endpoints, affinitySeconds }: Wanted): Promise<void> {
    const { clients, clock, logger } = this.#options;
    const existing = this.#listeners.get(id)?.listener;
    const listener =
      existing ?? (protocol === "TCP" ? new TcpListener(clock, clients) : new UdpListener(clock, clients));
    listener.balancer.set(endpoints, affinitySeconds);
    if (listener instanceof UdpListener) {
      listener.keepOnly(new Set(endpoints.map((endpoint) => `${endpoint.ip} ${endpoint.port}`)));
    }
    if (existing !== undefined) return;
    this.#listeners.set(id, { service, listener });
    try {
      await listener.listen(ip, port);
      this.#refused.delete(id);
    } catch (error) {
      this.#listeners.delete(id);
      if (this.#refused.has(id)) return;
      this.#refused.add(id);
      logger.warn("cannot serve a Service's address", { service, protocol, ip, port, error: describeError(error) });
    }
  }
}
