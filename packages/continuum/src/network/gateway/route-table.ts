import { familyOf, parseRoutes, type Routes, type RouteTableNumbers, routeChange } from "../fabric/route-change.ts";
import type { NodeNetwork } from "./node-network.ts";

const FAMILIES = [4, 6] as const;

/** One of Fjord's tables of routes on a node, and the rules that lead to it. */
export class RouteTable {
  readonly #network: NodeNetwork;
  readonly #numbers: RouteTableNumbers;

  constructor(network: NodeNetwork, numbers: RouteTableNumbers) {
    this.#network = network;
    this.#numbers = numbers;
  }

  /** Whatever is there becomes this. */
  async bring(routes: Routes): Promise<void> {
    const { table, protocol } = this.#numbers;
    for (const family of FAMILIES) {
      const wanted = new Map([...routes].filter(([range]) => familyOf(range) === family));
      await this.#network.ipBatch(family, routeChange(this.#numbers, await this.#routes(family), wanted)[family]);
      if (await this.#hasRule(family)) continue;
      const rule = ["preference", String(table), "lookup", String(table), "protocol", String(protocol)];
      await this.#network.ip(`-${family}`, "rule", "add", ...rule);
    }
  }

  /** Where it is known what is there. */
  async change(from: Routes, to: Routes): Promise<void> {
    const lines = routeChange(this.#numbers, from, to);
    for (const family of FAMILIES) await this.#network.ipBatch(family, lines[family]);
  }

  /** What is not as it shall be, in words. */
  async drift(routes: Routes): Promise<string[]> {
    const there = new Map([...(await this.#routes(4)), ...(await this.#routes(6))]);
    const lines = routeChange(this.#numbers, there, routes);
    const drift = [...lines[4], ...lines[6]];
    for (const family of FAMILIES) if (!(await this.#hasRule(family))) drift.push(`the rule for IPv${family} is gone`);
    return drift;
  }

  async remove(): Promise<void> {
    const { table } = this.#numbers;
    for (const family of FAMILIES) {
      const lines = routeChange(this.#numbers, await this.#routes(family), new Map())[family];
      await this.#network.ipBatch(family, lines);
      if (await this.#hasRule(family))
        await this.#network.ip(`-${family}`, "rule", "delete", "preference", String(table));
    }
  }

  async #routes(family: 4 | 6): Promise<Map<string, string>> {
    const args = ["route", "show", "table", "all", "protocol", String(this.#numbers.protocol)];
    return parseRoutes(this.#numbers, await this.#network.ip(`-${family}`, "-json", ...args));
  }

  async #hasRule(family: 4 | 6): Promise<boolean> {
    const preference = String(this.#numbers.table);
    return (await this.#network.ip(`-${family}`, "rule", "show", "preference", preference)).trim() !== "";
  }
}
