import type { NetworkNamespaces } from "./network-namespaces.ts";

/**
 * How a NAT calls those behind it. `stable`: by one port, whomever they speak to, as most do: two of them can be got through by both sides at once. `random`: by
 * another port for each whom they speak to ("symmetric"): nobody can know it before.
 */
export type Mapping = "stable" | "random";

export interface RouterOptions {
  /** Of its namespace. */
  readonly name: string;
  /** On the wire, a /24. */
  readonly address: string;
  /** What those behind it have as default route; others may use the same /24. */
  readonly lan: string;
  readonly mapping: Mapping;
}

/**
 * A router with a NAT between the wire (`makeWire`, `namespaceSites`) and a site, as at home: what nobody behind it has asked for is dropped. How two sites then
 * meet, in tests:
 *
 * - NAT at one side: put one gateway behind a router; its site has no `endpoints`, and it dials.
 * - NAT at both: put each behind a router of its own, and let a third site on the wire have links with both, and name the two in `spec.network.relays`. With `stable`
 *   mappings they meet directly; with `random` ones of both they stay with the hub.
 * - TCP alone: `drop("udp")`, at one of the two. The agent has to be dialled by TCP, or to dial: `put` it behind the same router.
 * - Roaming: `move` gives the router another address on the wire, and forgets who spoke to whom.
 */
export class Router {
  readonly name: string;
  readonly lan: string;
  readonly #namespaces: NetworkNamespaces;
  #address: string;
  #behind = 0;

  private constructor(namespaces: NetworkNamespaces, { name, address, lan }: RouterOptions) {
    this.#namespaces = namespaces;
    this.name = name;
    this.lan = lan;
    this.#address = address;
  }

  static async make(namespaces: NetworkNamespaces, options: RouterOptions): Promise<Router> {
    const router = new Router(namespaces, options);
    const { name, address, lan } = options;
    await namespaces.add(name);
    await namespaces.cable(name, "wan0", "wan", name);
    await namespaces.ip("wan", "link", "set", "dev", name, "master", "wire");
    await namespaces.ip(name, "address", "add", `${address}/24`, "dev", "wan0");
    await namespaces.ip(name, "link", "add", "lan", "type", "bridge");
    await namespaces.ip(name, "link", "set", "dev", "lan", "up");
    await namespaces.ip(name, "address", "add", `${lan}/24`, "dev", "lan");
    await router.map(options.mapping);
    return router;
  }

  /** On the wire. */
  get address(): string {
    return this.#address;
  }

  /** Puts a namespace behind it: what its `eth0` led to before is cut off. */
  async put(node: string, address: string): Promise<void> {
    const namespaces = this.#namespaces;
    await namespaces.ip(node, "link", "delete", "dev", "eth0").catch(() => {});
    const port = `port${++this.#behind}`;
    await namespaces.cable(node, "eth0", this.name, port);
    await namespaces.ip(this.name, "link", "set", "dev", port, "master", "lan");
    await namespaces.ip(node, "address", "add", `${address}/24`, "dev", "eth0");
    await namespaces.ip(node, "route", "add", "default", "via", this.lan);
  }

  /** Puts a process's network behind it, by an interface of that name, for nodes that are no namespaces of the testbed's. */
  async putProcess(pid: string, name: string): Promise<void> {
    const port = `port${++this.#behind}`;
    await this.#namespaces.ip(this.name, "link", "add", port, "type", "veth", "peer", "name", name, "netns", pid);
    await this.#namespaces.ip(this.name, "link", "set", "dev", port, "master", "lan", "up");
  }

  /** Calls those behind it so from now on; connections that are known are forgotten. */
  async map(mapping: Mapping): Promise<void> {
    const random = mapping === "random" ? " random,fully-random" : "";
    await this.#nft(
      "table ip nat {}",
      "delete table ip nat",
      `table ip nat { chain leave { type nat hook postrouting priority srcnat; oifname "wan0" masquerade${random}; }; }`,
      "table ip door {}",
      "delete table ip door",
      `table ip door {
        chain pass { type filter hook forward priority filter; iifname "wan0" ct state new drop; }
        chain enter { type filter hook input priority filter; iifname "wan0" meta l4proto { tcp, udp } ct state new drop; }
      }`,
    );
    // With the interface goes what is known by masquerading.
    for (const state of ["down", "up"]) await this.#namespaces.ip(this.name, "link", "set", "dev", "wan0", state);
  }

  /** Drops all of a protocol that passes, in both directions, or nothing any more. */
  async drop(protocol: "udp" | "nothing"): Promise<void> {
    const rules = protocol === "udp" ? "meta l4proto udp drop;" : "";
    await this.#nft(
      "table ip block {}",
      "delete table ip block",
      `table ip block { chain pass { type filter hook forward priority filter - 1; ${rules} }; }`,
    );
  }

  /** Gives it another address on the wire, as providers do over night. The kernel then forgets what went by the old one. */
  async move(address: string): Promise<void> {
    await this.#namespaces.ip(this.name, "address", "flush", "dev", "wan0");
    await this.#namespaces.ip(this.name, "address", "add", `${address}/24`, "dev", "wan0");
    this.#address = address;
  }

  async #nft(...lines: string[]): Promise<void> {
    await this.#namespaces.run(this.name, "nft", lines.join("\n"));
  }
}
