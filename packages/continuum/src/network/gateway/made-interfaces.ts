import { describeError, type Logger } from "@fjord/base";
import type { Fabric, FabricInterface } from "../fabric/fabric.ts";
import { formatRange } from "../ip-range.ts";
import { linkRange, RELAY_RANGE } from "../link-address.ts";
import { NOBODYS_ADDRESS, type NodeNetwork } from "./node-network.ts";
import type { WireguardDevices } from "./wireguard-devices.ts";

export interface MadeInterfacesOptions {
  readonly network: NodeNetwork;
  /** What they are called, before their number. */
  readonly prefix: string;
  readonly devices: WireguardDevices;
  readonly logger: Logger;
}

/** Interfaces of links on a node, with whatever they have that is not WireGuard's; also those that are made before anybody uses them. */
export class MadeInterfaces {
  readonly #network: NodeNetwork;
  readonly #prefix: string;
  readonly #devices: WireguardDevices;
  readonly #logger: Logger;
  /** By name: what was made of those that nobody uses yet. */
  readonly #prepared = new Map<string, string>();
  /** By name: whether peers are probed by it. A node may have no IPv6. */
  readonly #probing = new Map<string, boolean>();
  /** Names of those that packets of other lanes may come back by. A node may not let itself be told so. */
  readonly #lenient = new Set<string>();

  constructor({ network, prefix, devices, logger }: MadeInterfacesOptions) {
    this.#network = network;
    this.#prefix = prefix;
    this.#devices = devices;
    this.#logger = logger;
  }

  /** Names of those that are there and have a name of Fjord's. */
  async names(): Promise<string[]> {
    const links = JSON.parse((await this.#network.ip("-json", "link", "show")) || "[]") as { ifname: string }[];
    const name = new RegExp(`^${this.#prefix}\\d+$`);
    return links.map(({ ifname }) => ifname).filter((each) => name.test(each));
  }

  /** Makes interfaces that are not used yet; those that were made so before, and are not among them, go. */
  async prepare(fabric: Pick<Fabric, "interfaces" | "mtu" | "lanes"> | undefined): Promise<void> {
    const { interfaces = [] } = fabric ?? {};
    for (const name of [...this.#prepared.keys()].filter((each) => !interfaces.some((of) => of.name === each))) {
      this.#prepared.delete(name);
      await this.#delete(name);
    }
    if (fabric === undefined) return;
    for (const each of interfaces) {
      await this.#devices.bring(each.name);
      await this.bringUp(fabric, each);
      this.#prepared.set(each.name, this.#made(fabric, each));
    }
  }

  /** One that was made before is used from now on. Whether it is there as it shall be. */
  async takePrepared(fabric: Fabric, each: FabricInterface): Promise<boolean> {
    const { name } = each;
    const isPrepared = this.#prepared.get(name) === this.#made(fabric, each) && (await this.#devices.isThere(name));
    this.#prepared.delete(name);
    return isPrepared;
  }

  async bringUp({ mtu, lanes }: Pick<Fabric, "mtu" | "lanes">, each: FabricInterface): Promise<void> {
    const { name, linkAddress: own } = each;
    await this.#network.ip("link", "set", "dev", name, "mtu", String(mtu), "up");
    await Promise.all([own !== undefined && this.#bringLinkAddress(each, own), lanes > 1 && this.#allowDetours(name)]);
  }

  /** With the way to all that are behind hubs, as a hub itself needs it. */
  async bringRelayAddress(name: string, { relayAddress: own }: Fabric): Promise<void> {
    if (own === undefined)
      await this.#network.ip("-4", "address", "flush", "dev", name, "to", formatRange(RELAY_RANGE));
    else await this.#network.ip("-4", "address", "replace", `${own}/${RELAY_RANGE.length}`, "dev", name);
  }

  /** What one that is there is not as it was brought, in words. */
  async drift({ mtu, lanes, relayAddress: relay }: Fabric, each: FabricInterface): Promise<string[]> {
    const { name, lane, linkAddress: own } = each;
    // The node may have IPv6 by now.
    if (this.#probing.get(name) === false && own !== undefined) await this.#bringLinkAddress(each, own);
    const [seen] = JSON.parse(await this.#network.ip("-json", "address", "show", "dev", name)) as InterfaceJson[];
    const detours = lanes > 1 && this.#lenient.has(name) && NOBODYS_ADDRESS;
    const addresses = [this.#probing.get(name) && own, lane === 0 && relay, detours].filter(
      (each) => typeof each === "string",
    );
    const has = (address: string) => seen?.addr_info.some(({ local }) => local === address);
    const isPreferred = seen?.addr_info.some(({ local, deprecated }) => local === own && deprecated !== true);
    return [
      ...(seen?.flags.includes("UP") ? [] : [`interface ${name} is down`]),
      ...(seen?.mtu === mtu ? [] : [`packets of interface ${name} are of another size`]),
      ...addresses.filter((each) => !has(each)).map((each) => `interface ${name} has no address ${each}`),
      ...(isPreferred ? [`interface ${name} has address ${own} for whoever connects`] : []),
    ];
  }

  /** But not what is made for later. */
  async removeOthers(wanted: Fabric["interfaces"]): Promise<void> {
    for (const name of await this.names())
      if (!wanted.some((each) => each.name === name) && !this.#prepared.has(name)) await this.#delete(name);
  }

  /** All of them, whoever has made them. */
  async remove(): Promise<void> {
    this.#prepared.clear();
    for (const name of await this.names()) await this.#delete(name);
  }

  /** What an interface is made by. */
  #made({ mtu, lanes }: Pick<Fabric, "mtu" | "lanes">, { linkAddress: own }: FabricInterface): string {
    return JSON.stringify([this.#devices.carrier, mtu, lanes > 1, own]);
  }

  async #delete(name: string): Promise<void> {
    await this.#network.ip("link", "delete", "dev", name);
  }

  /** What the node has no mark for would go back by the first lane, or by another node: a strict look at that drops what comes by others. */
  async #allowDetours(name: string): Promise<void> {
    try {
      await this.#network.allowDetours(name);
      this.#lenient.add(name);
    } catch (error) {
      this.#lenient.delete(name);
      this.#logger.warn("the node drops what comes by other lanes than the first: set its rp_filter to 2, or to 0", {
        reason: describeError(error),
      });
    }
  }

  /**
   * Links work without it, as on nodes whose IPv6 is switched off; only nobody knows then how well. Gateways alone take it, and say so: a connection of the node's to
   * a pod of its own that the kernel gave it would have its answers dropped, as what comes to it by any other way than a link is forged.
   */
  async #bringLinkAddress({ name, lane }: FabricInterface, own: string): Promise<void> {
    const before = this.#probing.get(name);
    const address = `${own}/${linkRange(lane).length}`;
    try {
      await this.#network.ip("-6", "address", "replace", address, "dev", name, "nodad", "preferred_lft", "0");
      this.#probing.set(name, true);
    } catch (error) {
      this.#probing.set(name, false);
      if (before !== false) this.#logger.warn("links are not probed on this node", { reason: describeError(error) });
    }
  }
}

/** What `ip -json address show` says of one. */
interface InterfaceJson {
  readonly flags: readonly string[];
  readonly mtu: number;
  readonly addr_info: readonly { readonly local: string; readonly deprecated?: boolean }[];
}
