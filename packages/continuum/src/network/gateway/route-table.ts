import {
  familyOf,
  ledRanges,
  parseRoutes,
  type Routes,
  type RouteTableNumbers,
  type Rule,
  routeChange,
  rulesOf,
} from "../fabric/route-change.ts";
import type { NodeNetwork } from "./node-network.ts";

const FAMILIES = [4, 6] as const;

/** One of Fjord's tables of routes on a node, with those of lanes beyond the first, and the rules that lead to them. */
export class RouteTable {
  readonly #network: NodeNetwork;
  readonly #numbers: RouteTableNumbers;

  constructor(network: NodeNetwork, numbers: RouteTableNumbers) {
    this.#network = network;
    this.#numbers = numbers;
  }

  /** Whatever is there becomes this, for so many lanes. Resolves with the ranges that have been led somewhere before. */
  async bring(routes: Routes, lanes = 1): Promise<string[]> {
    return await this.#bring(routes, rulesOf(this.#numbers, lanes));
  }

  /** Routes before the rules that lead to them. */
  async #bring(routes: Routes, rules: readonly Rule[]): Promise<string[]> {
    const before = await Promise.all(
      FAMILIES.map(async (family) => {
        const wanted = new Map([...routes].filter(([range]) => familyOf(range) === family));
        const [there, found] = await Promise.all([this.#routes(family), this.#rules(family)]);
        const lines = routeChange(this.#numbers, there, wanted)[family];
        await this.#network.ipBatch(family, [...lines, ...this.#ruleChange(found, rules)]);
        return ledRanges(there);
      }),
    );
    return before.flat();
  }

  /** Where it is known what is there. */
  async change(from: Routes, to: Routes): Promise<void> {
    const lines = routeChange(this.#numbers, from, to);
    for (const family of FAMILIES) await this.#network.ipBatch(family, lines[family]);
  }

  /** What is not as it shall be, in words. */
  async drift(routes: Routes, lanes = 1): Promise<string[]> {
    const there = new Map([...(await this.#routes(4)), ...(await this.#routes(6))]);
    const lines = routeChange(this.#numbers, there, routes);
    const drift = [...lines[4], ...lines[6]];
    const wanted = rulesOf(this.#numbers, lanes).map(ruleText);
    for (const family of FAMILIES) {
      const found = (await this.#rules(family)).map(ruleText);
      if (wanted.some((rule) => !found.includes(rule))) drift.push(`a rule for IPv${family} is gone`);
      else if (found.length > wanted.length) drift.push(`there is a rule too much for IPv${family}`);
    }
    return drift;
  }

  async remove(): Promise<void> {
    await this.#bring(new Map(), []);
  }

  #ruleChange(found: readonly Rule[], wanted: readonly Rule[]): string[] {
    const { protocol } = this.#numbers;
    const has = (rules: readonly Rule[], rule: Rule) => rules.some((each) => ruleText(each) === ruleText(rule));
    return [
      ...wanted
        .filter((rule) => !has(found, rule))
        .map((rule) => `rule add ${ruleText(rule)} lookup ${rule.table} protocol ${protocol}`),
      ...found.filter((rule) => !has(wanted, rule)).map((rule) => `rule delete ${ruleText(rule)}`),
    ];
  }

  async #routes(family: 4 | 6): Promise<Map<string, string>> {
    const args = ["route", "show", "table", "all", "protocol", String(this.#numbers.protocol)];
    return parseRoutes(this.#numbers, await this.#network.ip(`-${family}`, "-json", ...args));
  }

  /** Those that Fjord has made for these tables: each has its table's number as preference. */
  async #rules(family: 4 | 6): Promise<Rule[]> {
    const json = await this.#network.ip(`-${family}`, "-json", "rule", "show");
    return (JSON.parse(json || "[]") as RuleJson[]).flatMap(({ priority, protocol, fwmark, fwmask }) =>
      protocol === String(this.#numbers.protocol)
        ? [{ table: priority, ...(fwmark !== undefined && { mark: `${fwmark}/${fwmask}` }) }]
        : [],
    );
  }
}

interface RuleJson {
  readonly priority: number;
  readonly protocol?: string;
  readonly fwmark?: string;
  readonly fwmask?: string;
}

function ruleText({ table, mark }: Rule): string {
  return `preference ${table}${mark === undefined ? "" : ` fwmark ${mark}`}`;
}
