import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { runCommand } from "../../nodes/command.ts";
import type { RealNode } from "../../nodes/node.ts";
import type { Site } from "../../site.ts";

/** A site and the one node that it has. */
export interface Berthed {
  readonly site: Site;
  readonly node: RealNode;
}

export interface WideNetworkOptions {
  /** Id of the bed that the sites are of. */
  readonly bed: string;
  readonly sites: readonly Berthed[];
  /** The program `ip`. */
  readonly ip: string;
}

/** The device by which a node is in it. */
const DEVICE = "eth1";

/** What lies between sites, as the Internet does: one switch, with a cable to each site's node. It knows nodes alone, and leads to no pod. */
export class WideNetwork {
  readonly #options: WideNetworkOptions;

  constructor(options: WideNetworkOptions) {
    this.#options = options;
  }

  async open(): Promise<void> {
    const { sites } = this.#options;
    const links = [this.#switch, ...sites.map(({ site }) => this.#cable(site.name))];
    for (const id of links) sites[0]?.site.addResource({ kind: "link", id });
    await this.#ip("make the network between the sites", [
      `link add ${this.#switch} type bridge`,
      `link set dev ${this.#switch} up`,
      ...(await Promise.all(sites.map((each) => this.#plug(each)))).flat(),
    ]);
    await Promise.all(sites.map((each) => this.#join(each)));
  }

  /** Where a site's node is reached by the others'. */
  addressOf(site: string): string {
    return `198.19.0.${this.#numberOf(site)}`;
  }

  /** Pulls a site's cable out, or puts it back. */
  async setUp(site: string, isUp: boolean): Promise<void> {
    await this.#ip(`${isUp ? "connect" : "cut off"} ${site}`, [
      `link set dev ${this.#cable(site)} ${isUp ? "up" : "down"}`,
    ]);
  }

  async #plug({ site, node }: Berthed): Promise<string[]> {
    const pid = (await readFile(join(node.directory, "pid"), "utf8")).trim();
    const cable = this.#cable(site.name);
    return [
      `link add ${cable} type veth peer name ${DEVICE} netns ${pid}`,
      `link set dev ${cable} master ${this.#switch} up`,
    ];
  }

  async #join({ site, node }: Berthed): Promise<void> {
    const commands = [`address add ${this.addressOf(site.name)}/24 dev ${DEVICE}`, `link set dev ${DEVICE} up`];
    const input = Buffer.from(`${commands.join("\n")}\n`);
    await node.run([this.#options.ip, "-batch", "-"], "join the network between the sites", { input });
  }

  async #ip(what: string, commands: readonly string[]): Promise<void> {
    await runCommand(this.#options.ip, ["-batch", "-"], { what, input: `${commands.join("\n")}\n` });
  }

  get #switch(): string {
    return `fj${this.#options.bed}-w`;
  }

  #cable(site: string): string {
    return `${this.#switch}${this.#numberOf(site)}`;
  }

  /** From 1 on. Addresses with it are known to the nodes alone, each in a namespace of its own: several demos may use the same. */
  #numberOf(site: string): number {
    return this.#options.sites.findIndex((each) => each.site.name === site) + 1;
  }
}
