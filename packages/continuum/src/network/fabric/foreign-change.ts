import { CAPTURE_TABLE } from "../capture/capture-table.ts";
import { FLOWS_TABLE } from "./flow-bound.ts";
import { MOST_LANES } from "./lanes.ts";
import { HEIR_ROUTES, LINK_ROUTES, tableOf, WAY_ROUTES } from "./route-change.ts";
import { TABLE } from "./table.ts";
import { WAY_TABLE } from "./way.ts";

const OURS = [TABLE, FLOWS_TABLE, WAY_TABLE, CAPTURE_TABLE].map((table) => table.split(" ")[1]).join("|");
const CHANGE = new RegExp(`^(add|insert|replace|delete|destroy) \\w+ inet (${OURS})(?= |$)`);
const GENERATION = /^# new generation \d+ by process (\d+)/;

/** Reads what `nft monitor` prints, line by line: which process has changed tables of Fjord's is said after what it has changed. */
export class FirewallChanges {
  #isOurs = false;

  /** The process that has changed something of Fjord's, where a line completes that. */
  read(line: string): number | undefined {
    if (CHANGE.test(line)) this.#isOurs = true;
    const process = GENERATION.exec(line)?.[1];
    if (process === undefined) return undefined;
    const isOurs = this.#isOurs;
    this.#isOurs = false;
    return isOurs ? Number(process) : undefined;
  }
}

/** Numbers of tables, and of the rules that lead to them. */
const TABLES = [LINK_ROUTES, WAY_ROUTES, HEIR_ROUTES].flatMap((numbers) =>
  Array.from({ length: MOST_LANES }, (_, lane) => tableOf(numbers, lane)),
);

/** Whether a line of `ip monitor` says that something of Fjord's was taken away: a route, a rule, or an interface or its address. */
export function isTaken(line: string, interfacePrefix: string): boolean {
  if (!line.startsWith("Deleted ")) return false;
  return (
    TABLES.some((table) => line.includes(` table ${table} `) || line.startsWith(`Deleted ${table}:`)) ||
    new RegExp(`^Deleted \\d+: ${interfacePrefix}(\\d+|x)(:| +inet6? .* scope (global|host))`).test(line)
  );
}

/** Interfaces of pods, which come and go. */
const OF_PODS = /^(veth|cali|lxc|cni|eni)/;

/** Whether a line of `ip monitor` says that the node has lost an address by which others may have reached it. */
export function isAddressLost(line: string, interfacePrefix: string): boolean {
  const name = /^Deleted \d+: (\S+) +inet6? .* scope global/.exec(line)?.[1];
  return name !== undefined && !OF_PODS.test(name) && !name.startsWith(interfacePrefix);
}
