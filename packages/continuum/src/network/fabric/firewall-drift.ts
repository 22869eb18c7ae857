import { formatRange, parseRange } from "../ip-range.ts";
import type { Fabric } from "./fabric.ts";

/**
 * What of a table, as `nft -j list table` prints it, is not as it shall be, in words: chains and how many rules each has, sets and
 * their elements. Empty where all is there.
 */
export function firewallDrift(fabric: Fabric, json: string): string[] {
  const { nftables } = JSON.parse(json) as { nftables: readonly NftObject[] };
  const rules = new Map<string, number>();
  const elements = new Map<string, Set<string>>();
  for (const { chain, rule, set, map } of nftables) {
    if (chain !== undefined) rules.set(chain.name, rules.get(chain.name) ?? 0);
    if (rule !== undefined) rules.set(rule.chain, (rules.get(rule.chain) ?? 0) + 1);
    const some = set ?? map;
    if (some !== undefined) elements.set(some.name, new Set((some.elem ?? []).map(elementText)));
  }
  return [...chainDrift(fabric, rules), ...elementDrift(fabric, elements)];
}

function chainDrift({ table, peers }: Fabric, rules: ReadonlyMap<string, number>): string[] {
  const wanted = new Map<string, number>();
  for (const [name, chain] of table.chains) wanted.set(name, chain.rules.length);
  for (const peer of peers.values()) for (const [name, each] of peer.rules.chains) wanted.set(name, each.length);
  return differences("chain", wanted, rules);
}

function elementDrift({ table, peers }: Fabric, elements: ReadonlyMap<string, ReadonlySet<string>>): string[] {
  const wanted = new Map<string, Set<string>>();
  for (const [name, definition] of table.sets) if (definition !== "counter") wanted.set(name, new Set());
  for (const peer of peers.values())
    for (const [set, each] of peer.rules.elements)
      for (const [key, value] of each) wanted.get(set)?.add(value === "" ? key : `${key} ${value}`);
  const drift: string[] = [];
  for (const [name, each] of wanted) {
    const there = elements.get(name);
    if (there === undefined) drift.push(`set ${name} is gone`);
    else if (there.size !== each.size || [...each].some((element) => !there.has(element)))
      drift.push(`set ${name} has other elements`);
  }
  return drift;
}

function differences(what: string, wanted: ReadonlyMap<string, number>, there: ReadonlyMap<string, number>): string[] {
  const drift: string[] = [];
  for (const [name, count] of wanted) {
    const now = there.get(name);
    if (now === undefined) drift.push(`${what} ${name} is gone`);
    else if (now !== count) drift.push(`${what} ${name} has ${now} rules instead of ${count}`);
  }
  for (const name of there.keys()) if (!wanted.has(name)) drift.push(`${what} ${name} is not Fjord's`);
  return drift;
}

interface NftObject {
  readonly chain?: { readonly name: string };
  readonly rule?: { readonly chain: string };
  readonly set?: NftSet;
  readonly map?: NftSet;
}

interface NftSet {
  readonly name: string;
  readonly elem?: readonly NftElement[];
}

/** A key, or a key and what it leads to. */
type NftElement = NftKey | readonly [NftKey, number | { readonly jump: { readonly target: string } }];
type NftKey = string | { readonly concat: readonly (string | number)[] };

function elementText(element: NftElement): string {
  if (!Array.isArray(element)) return keyText(element as NftKey);
  const [key, value] = element as readonly [NftKey, number | { readonly jump: { readonly target: string } }];
  return `${keyText(key)} : ${typeof value === "number" ? value : `jump ${value.jump?.target}`}`;
}

function keyText(key: NftKey): string {
  if (typeof key !== "string")
    return key.concat.map((part) => (typeof part === "string" ? address(part) : part)).join(" . ");
  return address(key);
}

function address(text: string): string {
  const range = parseRange(text);
  return range === undefined ? text : formatRange(range);
}
