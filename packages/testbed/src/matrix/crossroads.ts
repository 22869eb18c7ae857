import { readFile } from "node:fs/promises";
import { join } from "node:path";
import type { NetworkNamespaces } from "../namespaces/index.ts";
import type { RealNode } from "../nodes/node.ts";
import type { Topology } from "./matrix-cell.ts";

/** A site's gateway node, counted from 1: two that shall meet, and a third that both reach. */
export type Place = 1 | 2 | 3;

const FETCH = `fetch(process.argv[1], { signal: AbortSignal.timeout(4_000) })
  .then((answer) => answer.text()).then((text) => process.stdout.write(text));`;

const PLACES: readonly Place[] = [1, 2, 3];

/** Where a node is found by others, where nothing hides it. */
export function nodeAddress(place: Place, ipv6: boolean): string {
  return ipv6 ? `2001:db8:${place}::2` : `172.31.${place}.2`;
}

/** Whether a node's own address is of no use to others. */
export function isHidden(topology: Topology, place: Place): boolean {
  return (topology === "NAT one side" && place === 1) || (isTwoNats(topology) && place < 3);
}

/** Whether the third site is to lead the two to each other: elsewhere it is no way out. */
export function isLed(topology: Topology): boolean {
  return topology === "hub" || isTwoNats(topology);
}

const isTwoNats = (topology: Topology) => topology === "NAT both" || topology === "symmetric NATs";

/**
 * What joins gateways: each has a router of its own, and these are on one wire. Routers are made anew for each topology, so that
 * none remembers connections of an earlier one.
 */
export class Crossroads {
  readonly #namespaces: NetworkNamespaces;
  readonly #nodes: readonly RealNode[];
  #isThere = false;

  /** The nodes of places 1, 2 and 3. */
  constructor(namespaces: NetworkNamespaces, nodes: readonly RealNode[]) {
    this.#namespaces = namespaces;
    this.#nodes = nodes;
  }

  async arrange(topology: Topology): Promise<void> {
    const namespaces = this.#namespaces;
    if (this.#isThere) for (const name of ["wire", ...PLACES.map(routerOf)]) await namespaces.remove(name);
    this.#isThere = true;
    await namespaces.add("wire");
    await namespaces.ip("wire", "link", "add", "wire", "type", "bridge");
    await namespaces.ip("wire", "link", "set", "dev", "wire", "up");
    for (const place of PLACES) await this.#join(place, topology);
  }

  /** What the router of a place gets from the node there, by the address that the node has at its site. */
  async visit(place: Place, url: string, address: string): Promise<string> {
    const router = routerOf(place);
    await this.#namespaces.ip(router, "route", "replace", address, "via", nodeAddress(place, address.includes(":")));
    return await this.#namespaces.run(router, process.execPath, "-e", FETCH, url);
  }

  async #join(place: Place, topology: Topology): Promise<void> {
    const namespaces = this.#namespaces;
    const [router, node] = [routerOf(place), this.#nodes[place - 1] as RealNode];
    await namespaces.add(router);
    await namespaces.cable(router, "out", "wire", `to${place}`);
    await namespaces.ip("wire", "link", "set", "dev", `to${place}`, "master", "wire");
    const pid = (await readFile(join(node.directory, "pid"), "utf8")).trim();
    await namespaces.ip(router, "link", "add", "in", "type", "veth", "peer", "name", "wan0", "netns", pid);
    await namespaces.ip(router, "link", "set", "dev", "in", "up");
    const others = PLACES.filter((each) => each !== place);
    for (const [prefix, length, own] of [
      [`172.31.${place}.`, 24, `203.0.113.${place}/24`],
      [`2001:db8:${place}::`, 64, `2001:db8:ff::${place}/64`],
    ] as const) {
      await namespaces.ip(router, "address", "add", `${prefix}1/${length}`, "dev", "in");
      await namespaces.ip(router, "address", "add", own, "dev", "out");
      await node.run(["ip", "address", "add", `${prefix}2/${length}`, "dev", "wan0"], "join the crossroads");
    }
    await node.run(["ip", "link", "set", "dev", "wan0", "up"], "join the crossroads");
    for (const [to, via] of [
      ["172.31.0.0/16", `172.31.${place}.1`],
      ["203.0.113.0/24", `172.31.${place}.1`],
      ["2001:db8::/32", `2001:db8:${place}::1`],
    ] as const)
      await node.run(["ip", "route", "replace", to, "via", via, "dev", "wan0"], "join the crossroads");
    for (const other of others) {
      await namespaces.ip(router, "route", "add", `172.31.${other}.0/24`, "via", `203.0.113.${other}`);
      await namespaces.ip(router, "route", "add", `2001:db8:${other}::/64`, "via", `2001:db8:ff::${other}`);
    }
    const rules = routerRules(topology, place);
    if (rules !== "") await namespaces.run(router, "nft", rules);
  }
}

const routerOf = (place: Place) => `router${place}`;

/** What the router of a place does to packets. */
export function routerRules(topology: Topology, place: Place): string {
  const chains: string[] = [];
  const forward = (...rules: string[]) =>
    chains.push(`chain pass { type filter hook forward priority filter; policy accept;\n${rules.join("\n")}\n}`);
  if (isHidden(topology, place)) {
    forward('iifname "out" ct state != { established, related } drop');
    // A router that answered, or remembered, what came for nobody would not call the one behind it by the same port afterwards.
    const unasked = 'iifname "out" meta l4proto { tcp, udp } ct state new drop';
    chains.push(`chain enter { type filter hook input priority filter; policy accept;\n${unasked}\n}`);
    const port = topology === "symmetric NATs" ? " random,fully-random" : "";
    const source = [`ip saddr 172.31.${place}.0/24 snat ip to 203.0.113.${place}${port}`];
    source.push(`ip6 saddr 2001:db8:${place}::/64 snat ip6 to 2001:db8:ff::${place}${port}`);
    const rules = source.map((rule) => `oifname "out" ${rule}`).join("\n");
    chains.push(`chain hide { type nat hook postrouting priority srcnat; policy accept;\n${rules}\n}`);
  }
  if (topology === "hub" && place < 3) {
    const other = place === 1 ? 2 : 1;
    const addresses = [`ip daddr { 172.31.${other}.0/24, 203.0.113.${other} } drop`];
    addresses.push(`ip6 daddr { 2001:db8:${other}::/64, 2001:db8:ff::${other} } drop`);
    forward(...addresses);
  }
  if (topology === "TCP only" && place < 3) forward("meta l4proto udp drop");
  return chains.length === 0 ? "" : `table inet crossroads {\n${chains.join("\n")}\n}\n`;
}
