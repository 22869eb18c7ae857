import type { Fabric, FabricPeer } from "./fabric.ts";
import type { PeerRules } from "./peer-rules.ts";
import { TABLE } from "./table.ts";

/** Text for one `nft -f`, which takes all of it or nothing; empty where nothing is to be done. */
export function firewallChange(previous: Fabric | undefined, next: Fabric): string {
  if (previous === undefined || previous.tableKey !== next.tableKey) return wholeFirewall(next);
  const lines = new Transaction();
  for (const [siteId, peer] of previous.peers)
    if (next.peers.get(siteId) !== peer) changePeer(peer, next.peers.get(siteId), lines);
  for (const [siteId, peer] of next.peers) if (!previous.peers.has(siteId)) changePeer(undefined, peer, lines);
  changePeer(previous.exports, next.exports, lines);
  return lines.text();
}

const CHAIN = new RegExp(`^(?:add|flush) chain ${TABLE} (\\S+)$`, "gm");

/** The chains that a change makes, or fills anew. */
export function changedChains(change: string): string[] {
  return [...change.matchAll(CHAIN)].map(([, name = ""]) => name);
}

/** The table as it shall be, in the place of whatever there is. */
export function wholeFirewall({ table, peers, exports }: Fabric): string {
  const lines = [`table ${TABLE}`, `delete table ${TABLE}`, `table ${TABLE} {`];
  for (const [name, definition] of table.sets) {
    const [sort, ...body] = definition.split(" ");
    lines.push(`${sort} ${name} ${body.join(" ") || "{ }"}`);
  }
  const chain = (name: string, rules: readonly string[], hook = "") =>
    lines.push(`chain ${name} {`, ...(hook === "" ? [] : [hook]), ...rules, "}");
  for (const { rules } of [...peers.values(), exports]) for (const [name, each] of rules.chains) chain(name, each);
  for (const [name, { rules, hook }] of table.chains) chain(name, rules, hook);
  lines.push("}");
  const elements = new Transaction();
  for (const each of [...peers.values(), exports]) changePeer(undefined, each, elements, "elements");
  return `${lines.join("\n")}\n${elements.text()}`;
}

export function removedFirewall(): string {
  return `table ${TABLE}\ndelete table ${TABLE}\n`;
}

const nothing: PeerRules = { chains: new Map(), elements: new Map() };

function changePeer(
  from: Pick<FabricPeer, "rules"> | undefined,
  to: Pick<FabricPeer, "rules"> | undefined,
  lines: Transaction,
  what: "all" | "elements" = "all",
): void {
  const before = from?.rules ?? nothing;
  const after = to?.rules ?? nothing;
  if (what === "all") {
    for (const [name, rules] of after.chains) {
      if (!before.chains.has(name)) lines.early.push(`add chain ${TABLE} ${name}`);
      else if (sameRules(before.chains.get(name), rules)) continue;
      else lines.early.push(`flush chain ${TABLE} ${name}`);
      for (const rule of rules) lines.early.push(`add rule ${TABLE} ${name} ${rule}`);
    }
    const gone = [...before.chains.keys()].filter((name) => !after.chains.has(name));
    // One may lead to another.
    lines.late.push(...gone.map((name) => `flush chain ${TABLE} ${name}`));
    lines.late.push(...gone.map((name) => `delete chain ${TABLE} ${name}`));
  }
  for (const set of new Set([...before.elements.keys(), ...after.elements.keys()])) {
    const [old, wanted] = [before.elements.get(set), after.elements.get(set)];
    for (const [key, value] of old ?? []) if (wanted?.get(key) !== value) lines.remove(set, key);
    for (const [key, value] of wanted ?? []) if (old?.get(key) !== value) lines.add(set, `${key} ${value}`);
  }
}

function sameRules(a: readonly string[] | undefined, b: readonly string[]): boolean {
  return a?.length === b.length && a.every((rule, i) => rule === b[i]);
}

/** Chains are there before what leads to them, and go after it. */
class Transaction {
  readonly early: string[] = [];
  readonly late: string[] = [];
  readonly #removed = new Map<string, string[]>();
  readonly #added = new Map<string, string[]>();

  remove(set: string, key: string): void {
    append(this.#removed, set, key);
  }

  add(set: string, element: string): void {
    append(this.#added, set, element);
  }

  text(): string {
    const elements = (verb: string, sets: ReadonlyMap<string, readonly string[]>) =>
      [...sets].flatMap(([set, each]) => pieces(each).map((some) => `${verb} element ${TABLE} ${set} { ${some} }`));
    const lines = [...this.early, ...elements("delete", this.#removed), ...elements("add", this.#added), ...this.late];
    return lines.map((line) => `${line}\n`).join("");
  }
}

function append(lists: Map<string, string[]>, key: string, value: string): void {
  const list = lists.get(key);
  if (list === undefined) lists.set(key, [value]);
  else list.push(value);
}

/** nft reads lines of any length, people do not. */
function pieces(all: readonly string[]): string[] {
  const result: string[] = [];
  for (let i = 0; i < all.length; i += 100) result.push(all.slice(i, i + 100).join(", "));
  return result;
}
