import { formatRange, parseRange } from "../ip-range.ts";
import type { Fabric } from "./fabric.ts";

/**
 * What of a table, as `nft -j list table` prints it, is not as it shall be, in words: chains and their rules, sets and
 * their elements. `made` are the chains as they were made. Empty where all is there.
 */
export function firewallDrift(fabric: Fabric, made: ReadonlyMap<string, string>, json: string): string[] {
  const { nftables } = JSON.parse(json) as { nftables: readonly NftObject[] };
  const elements = new Map<string, Set<string>>();
  for (const { set, map } of nftables) {
    const some = set ?? map;
    if (some !== undefined) elements.set(some.name, new Set((some.elem ?? []).map(elementText)));
  }
  const chains = new Set(fabric.table.chains.keys());
  for (const { rules } of [...fabric.peers.values(), fabric.exports])
    for (const name of rules.chains.keys()) chains.add(name);
  return [...chainDrift(chains, made, json), ...elementDrift(fabric, elements)];
}

/** Chains out of what `nft -e -j` prints of a transaction: all that it has made or filled. */
export function madeChains(json: string): Map<string, string> {
  if (json === "") return new Map();
  const { nftables } = JSON.parse(json) as { nftables: readonly { readonly add?: NftObject }[] };
  return chainTexts(nftables.flatMap(({ add }) => add ?? []));
}

/** Chains out of what `nft -j list table` prints. */
export function listedChains(json: string): Map<string, string> {
  return chainTexts((JSON.parse(json) as { nftables: readonly NftObject[] }).nftables);
}

/** By name, a text that is another one where the chain's hook or one of its rules is: nft says rules otherwise than they were given. */
function chainTexts(objects: readonly NftObject[]): Map<string, string> {
  const parts = new Map<string, unknown[]>();
  const partsOf = (name: string) => parts.get(name) ?? parts.set(name, [{}]).get(name) ?? [];
  for (const { chain, rule } of objects) {
    if (chain !== undefined) {
      const { type, hook, prio, policy } = chain;
      partsOf(chain.name)[0] = { type, hook, prio, policy };
    }
    if (rule !== undefined) partsOf(rule.chain).push(rule.expr);
  }
  return new Map([...parts].map(([name, each]) => [name, JSON.stringify(each, inOneOrder)]));
}

/** What is in a set of a rule has none: nft says it as it was given when it is made, and as the kernel has it afterwards. */
function inOneOrder(key: string, value: unknown): unknown {
  if (key !== "set" || !Array.isArray(value)) return value;
  return value.toSorted((one, other) => (JSON.stringify(one) < JSON.stringify(other) ? -1 : 1));
}

/** What of the chains in a listed table is not as it was made. */
export function chainDrift(wanted: ReadonlySet<string>, made: ReadonlyMap<string, string>, json: string): string[] {
  const there = listedChains(json);
  const drift: string[] = [];
  for (const name of wanted) {
    if (!there.has(name)) drift.push(`chain ${name} is gone`);
    else if (there.get(name) !== made.get(name)) drift.push(`chain ${name} has other rules`);
  }
  for (const name of there.keys()) if (!wanted.has(name)) drift.push(`chain ${name} is not Fjord's`);
  return drift;
}

function elementDrift({ table, peers, exports }: Fabric, elements: ReadonlyMap<string, ReadonlySet<string>>): string[] {
  const wanted = new Map<string, Set<string>>();
  for (const [name, definition] of table.sets) if (definition !== "counter") wanted.set(name, new Set());
  for (const { rules } of [...peers.values(), exports])
    for (const [set, each] of rules.elements)
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

interface NftObject {
  readonly chain?: NftChain;
  readonly rule?: { readonly chain: string; readonly expr: readonly unknown[] };
  readonly set?: NftSet;
  readonly map?: NftSet;
}

interface NftChain {
  readonly name: string;
  readonly type?: string;
  readonly hook?: string;
  readonly prio?: number;
  readonly policy?: string;
}

interface NftSet {
  readonly name: string;
  readonly elem?: readonly NftElement[];
}

/** A key, or a key and what it leads to. */
type NftElement = NftKey | readonly [NftKey, NftValue];
type NftValue = number | string | { readonly jump: { readonly target: string } };
type NftKey = string | { readonly concat: readonly (string | number)[] };

function elementText(element: NftElement): string {
  if (!Array.isArray(element)) return keyText(element as NftKey);
  const [key, value] = element as readonly [NftKey, NftValue];
  return `${keyText(key)} : ${valueText(value)}`;
}

function valueText(value: NftValue): string {
  if (typeof value === "object") return `jump ${value.jump?.target}`;
  return typeof value === "number" ? String(value) : address(value);
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
