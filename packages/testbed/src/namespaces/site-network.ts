import { EchoPod } from "./echo-pod.ts";
import type { NetworkNamespaces } from "./network-namespaces.ts";

/** The network of one site: a gateway on a wire to others, and behind it pods at addresses that somebody else has chosen. */
export class SiteNetwork {
  readonly gateway: string;
  readonly #namespaces: NetworkNamespaces;
  readonly #bridgeAddress: string;
  #pods = 0;

  private constructor(namespaces: NetworkNamespaces, gateway: string, bridgeAddress: string) {
    this.#namespaces = namespaces;
    this.gateway = gateway;
    this.#bridgeAddress = bridgeAddress;
  }

  /** `podRange` is a /16 of IPv4, in which the bridge takes the last address but one; `wire` is a namespace with a bridge of that name. */
  static async make(
    namespaces: NetworkNamespaces,
    site: { readonly name: string; readonly address: string; readonly podRange: string },
  ): Promise<SiteNetwork> {
    const { name, address, podRange } = site;
    const gateway = `${name}-gw`;
    const bridgeAddress = podRange.replace(/\.0\.0\/16$/, ".255.254");
    await namespaces.add(gateway);
    await namespaces.cable(gateway, "eth0", "wan", name);
    await namespaces.ip("wan", "link", "set", "dev", name, "master", "wire");
    await namespaces.ip(gateway, "address", "add", `${address}/24`, "dev", "eth0");
    await namespaces.ip(gateway, "link", "add", "pods", "type", "bridge");
    await namespaces.ip(gateway, "link", "set", "dev", "pods", "up");
    await namespaces.ip(gateway, "address", "add", `${bridgeAddress}/16`, "dev", "pods");
    await hidePods(namespaces, gateway, `ip saddr ${podRange} ip daddr != ${podRange}`);
    return new SiteNetwork(namespaces, gateway, bridgeAddress);
  }

  /** A pod at an address; its namespace's name. */
  async addPod(address: string): Promise<string> {
    const name = `${this.gateway.slice(0, -3)}${++this.#pods}`;
    await this.#namespaces.add(name);
    await this.#namespaces.cable(name, "eth0", this.gateway, name);
    await this.#namespaces.ip(this.gateway, "link", "set", "dev", name, "master", "pods");
    await this.#namespaces.ip(name, "address", "add", `${address}/16`, "dev", "eth0");
    await this.#namespaces.ip(name, "route", "add", "default", "via", this.#bridgeAddress);
    return name;
  }
}

/** As networks of pods do: to others than pods, these speak in their node's name. */
export async function hidePods(
  namespaces: NetworkNamespaces,
  node: string,
  ...matches: readonly string[]
): Promise<void> {
  const rules = matches.map((match) => `${match} masquerade`).join("\n");
  const chain = `chain leave { type nat hook postrouting priority srcnat; policy accept;\n${rules}\n}`;
  await namespaces.run(node, "nft", `table inet pods {\n${chain}\n}\n`);
}

/** Another node of a site on the same wire, without pods of its own, from which `podRange` is reached through `via`. */
export async function addNode(
  namespaces: NetworkNamespaces,
  node: { readonly name: string; readonly address: string; readonly podRange: string; readonly via: string },
): Promise<void> {
  const { name, address, podRange, via } = node;
  await namespaces.add(name);
  await namespaces.cable(name, "eth0", "wan", name);
  await namespaces.ip("wan", "link", "set", "dev", name, "master", "wire");
  await namespaces.ip(name, "address", "add", `${address}/24`, "dev", "eth0");
  await namespaces.ip(name, "route", "add", podRange, "via", via);
}

/** A host that only this node reaches, and that answers: the .2 of a /24 of which the node has the .1. */
export async function addHost(
  namespaces: NetworkNamespaces,
  host: { readonly name: string; readonly node: string; readonly address: string },
): Promise<EchoPod> {
  const { name, node, address } = host;
  await namespaces.add(name);
  await namespaces.cable(name, "eth0", node, "lan");
  await namespaces.ip(name, "address", "add", `${address}/24`, "dev", "eth0");
  await namespaces.ip(node, "address", "add", `${address.replace(/\.2$/, ".1")}/24`, "dev", "lan");
  return await EchoPod.start(namespaces, name);
}

/** A wire on which sites' gateways are. */
export async function makeWire(namespaces: NetworkNamespaces): Promise<void> {
  await namespaces.add("wan");
  await namespaces.ip("wan", "link", "add", "wire", "type", "bridge");
  await namespaces.ip("wan", "link", "set", "dev", "wire", "up");
}
