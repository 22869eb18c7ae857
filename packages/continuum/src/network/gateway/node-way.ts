import type { Logger } from "@fjord/base";
import { chainDrift } from "../fabric/firewall-drift.ts";
import { familyOf, HEIR_ROUTES, ledRanges, WAY_ROUTES } from "../fabric/route-change.ts";
import { type Hop, TUNNEL_PORT, WAY_TABLE, type Way, type WayState, wayFirewall, wayOf } from "../fabric/way.ts";
import type { Heir } from "./fence.ts";
import { HiddenFlows } from "./hidden-flows.ts";
import { makeChains } from "./make-chains.ts";
import type { NodeNetwork } from "./node-network.ts";
import { RouteTable } from "./route-table.ts";

export interface NodeWayOptions {
  readonly network: NodeNetwork;
  /** The tunnel's interface is called so, with an x. @default "fjord" */
  readonly interfacePrefix?: string;
  /** Uses the tunnel for neighbours too: where the network between nodes carries only their own addresses. @default false */
  readonly alwaysTunnel?: boolean;
  readonly logger: Logger;
}

interface AppliedWay {
  readonly state: WayState;
  readonly way: Way;
}

/** Keeps a node's way to the gateway of its site at what a state says. */
export class NodeWay {
  readonly #network: NodeNetwork;
  readonly #tunnel: string;
  readonly #alwaysTunnel: boolean;
  readonly #logger: Logger;
  readonly #routes: RouteTable;
  readonly #heirRoutes: RouteTable;
  readonly #hiddenFlows: HiddenFlows;
  #applied: AppliedWay | undefined;
  #made = new Map<string, string>();

  constructor({ network, interfacePrefix = "fjord", alwaysTunnel = false, logger }: NodeWayOptions) {
    this.#network = network;
    this.#tunnel = `${interfacePrefix}x`;
    this.#alwaysTunnel = alwaysTunnel;
    this.#logger = logger;
    this.#routes = new RouteTable(network, WAY_ROUTES);
    this.#heirRoutes = new RouteTable(network, HEIR_ROUTES);
    this.#hiddenFlows = new HiddenFlows({ network, logger });
  }

  /** The node that takes over; undefined where there is no way to one. */
  get heir(): Heir | undefined {
    const routes = [...(this.#applied?.way.heirRoutes ?? [])];
    if (routes.length === 0) return undefined;
    const devices = new Set(routes.flatMap(([, to]) => / dev (\S+)/.exec(to)?.[1] ?? []));
    return { devices: [...devices], ranges: routes.map(([range]) => range) };
  }

  /** Changes what has changed since the last time; the first time, and after a failure, whatever is there becomes this. */
  async apply(state: WayState): Promise<void> {
    await this.#apply(state, this.#applied);
  }

  async #apply(state: WayState, before: AppliedWay | undefined): Promise<void> {
    this.#applied = undefined;
    const way = await this.#way(state);
    const isSame = (part: (of: AppliedWay) => unknown) =>
      before !== undefined && JSON.stringify(part(before)) === JSON.stringify(part({ state, way }));
    // Who passes is decided before anybody can.
    if (!isSame((of) => [...of.way.chains])) this.#made = await makeChains(this.#network, WAY_TABLE, wayFirewall(way));
    if (way.tunnel && !isSame((of) => [of.way.tunnel, of.state.mtu])) await this.#bringTunnel(state.mtu);
    const led = isSame((of) => [[...of.way.routes], lanesOf(of.state)])
      ? ledRanges(way.routes)
      : await this.#routes.bring(way.routes, lanesOf(state));
    if (!isSame((of) => [...of.way.heirRoutes])) await this.#heirRoutes.bring(way.heirRoutes, heirRules(way));
    if (!way.tunnel && !isSame((of) => of.way.tunnel) && (await this.#hasTunnel()))
      await this.#network.ip("link", "delete", "dev", this.#tunnel);
    this.#applied = { state, way };
    // Nobody waits for it: it takes a while, and says by itself what fails.
    const earlier = { own: before?.state.own ?? state.own, remote: led };
    void this.#hiddenFlows.forgetEarlier(earlier, { own: state.own, remote: ledRanges(way.routes) });
  }

  /** Looks whether everything is as it was left, and whether the gateway is still reached that way; puts back what is not. */
  async check(): Promise<string[]> {
    if (this.#applied === undefined) return [];
    const { state, way } = this.#applied;
    const wanted = await this.#way(state);
    const drift = [
      ...(await this.#firewallDrift(way)),
      ...(await this.#routes.drift(wanted.routes, lanesOf(state))),
      ...(await this.#heirRoutes.drift(wanted.heirRoutes, heirRules(wanted))),
    ];
    if (way.tunnel !== (await this.#hasTunnel())) drift.push(`interface ${this.#tunnel} is gone, or too much`);
    if (drift.length === 0) return drift;
    this.#logger.warn("the node's way to the gateway was changed by others, and is put back", {
      drift: drift.slice(0, 5),
    });
    await this.#apply(state, undefined);
    await this.#hiddenFlows.forget(state.own, state.ranges);
    return drift;
  }

  /** Takes everything away, whoever has made it. */
  async remove(): Promise<void> {
    this.#applied = undefined;
    await this.#routes.remove();
    await this.#heirRoutes.remove();
    if (await this.#hasTunnel()) await this.#network.ip("link", "delete", "dev", this.#tunnel);
    await this.#network.nft(wayFirewall({ chains: new Map() }));
  }

  async #way(state: WayState): Promise<Way> {
    const hopsTo = async (addresses: readonly string[]) => {
      const hops = await Promise.all(addresses.map((address) => this.#hop(address)));
      return hops.flatMap((hop) => hop ?? []);
    };
    const [hops = [], toHeir = [], ...ofLanes] = await Promise.all(
      [state.gateway, state.heir ?? [], ...(state.lanes?.gateways ?? [])].map(hopsTo),
    );
    return wayOf(state, hops, this.#tunnel, ofLanes, toHeir);
  }

  /** Undefined where there is no way at all. */
  async #hop(address: string): Promise<Hop | undefined> {
    try {
      const json = await this.#network.ip(`-${familyOf(address)}`, "-json", "route", "get", address);
      const [route] = JSON.parse(json) as { dev: string; gateway?: string }[];
      if (route === undefined) return undefined;
      return { address, device: route.dev, isNeighbour: route.gateway === undefined && !this.#alwaysTunnel };
    } catch (error) {
      this.#logger.warn("there is no way to an address of the gateway", { address, reason: String(error) });
      return undefined;
    }
  }

  async #bringTunnel(mtu: number): Promise<void> {
    if (!(await this.#hasTunnel())) {
      // The kernel sends packets of such routes without a checksum, which over IPv6 is taken only where it is said so.
      const options = ["external", "gpe", "nolearning", "udp6zerocsumrx", "dstport", String(TUNNEL_PORT)];
      await this.#network.ip("link", "add", this.#tunnel, "type", "vxlan", ...options);
    }
    await this.#network.ip("link", "set", "dev", this.#tunnel, "mtu", String(mtu), "up");
    // Pods from which something comes that way are reached by their own network.
    await this.#network.allowDetours(this.#tunnel).catch((error: unknown) => {
      this.#logger.warn("the node drops what comes by the tunnel: set its rp_filter to 2, or to 0", {
        reason: String(error),
      });
    });
  }

  async #hasTunnel(): Promise<boolean> {
    const links = JSON.parse((await this.#network.ip("-json", "link", "show")) || "[]") as { ifname: string }[];
    return links.some(({ ifname }) => ifname === this.#tunnel);
  }

  async #firewallDrift({ chains }: Way): Promise<string[]> {
    const json = await this.#network.nftTable(WAY_TABLE);
    if (json === undefined) return chains.size === 0 ? [] : [`table ${WAY_TABLE} is gone`];
    return chainDrift(new Set(chains.keys()), this.#made, json);
  }
}

/** How many rules lead to the routes to the next one. */
function heirRules({ heirRoutes }: Way): number {
  return heirRoutes.size === 0 ? 0 : 1;
}

function lanesOf({ lanes }: WayState): number {
  return 1 + (lanes?.gateways.length ?? 0);
}
