import type { Contract } from "@fjord/api";
import { amountsOf, type Node, type Pod, podRequests, quantitiesOf, type ResourceAmounts } from "@fjord/kube";

/** A resource of which a pod asks for more than there is altogether, whoever else uses it. */
export interface Lack {
  readonly resource: string;
  readonly asked: string;
  readonly most: string;
}

/** What one pod asks for and the whole of a contract does not have. What a contract does not name is not limited by it. */
export function lackOfContract(pod: Pod, { spec, status }: Contract): Lack[] {
  const agreed = amountsOf(readable(spec.terms.resources));
  const given = amountsOf(readable(status?.peerLimit ?? {}));
  return lacks(podRequests(pod), (name) => {
    const [amount, limit] = [agreed.get(name), given.get(name)];
    return amount !== undefined && limit !== undefined && limit < amount ? limit : amount;
  });
}

/** What one pod asks for and none of some nodes has; nothing where a node does not say what it has. */
export function lackOfNodes(pod: Pod, nodes: readonly Node[]): Lack[] {
  const all = nodes.map(({ status }) => status?.allocatable);
  if (all.length === 0 || all.some((amounts) => amounts === undefined)) return [];
  const each = all.map((amounts) => amountsOf(readable(amounts ?? {})));
  return lacks(podRequests(pod), (name) =>
    each.reduce((most, amounts) => ((amounts.get(name) ?? 0n) > most ? (amounts.get(name) ?? 0n) : most), 0n),
  );
}

/** `it asks for cpu 9 and memory 4Gi, and contract c-1 has cpu 500m and memory 1Gi altogether`. */
export function lackWords(all: readonly Lack[], has: string): string {
  const list = (amountOf: (lack: Lack) => string) =>
    all.map((lack) => `${lack.resource} ${amountOf(lack)}`).join(" and ");
  return `it asks for ${list(({ asked }) => asked)}, and ${has} ${list(({ most }) => most)}`;
}

function lacks(asked: ResourceAmounts, most: (name: string) => bigint | undefined): Lack[] {
  return [...asked].flatMap(([resource, amount]) => {
    const limit = most(resource);
    if (limit === undefined || amount <= limit) return [];
    const text = (value: bigint) => inLargeUnits(quantitiesOf(new Map([[resource, value]]))[resource] ?? "");
    return [{ resource, asked: text(amount), most: text(limit) }];
  });
}

/** `4Gi` for `4194304Ki`. */
function inLargeUnits(text: string): string {
  const [, digits = "", unit = ""] = /^(\d+)([KMG]i)$/.exec(text) ?? [];
  const next = { Ki: "Mi", Mi: "Gi", Gi: "Ti" }[unit];
  return next !== undefined && Number(digits) % 1024 === 0 ? inLargeUnits(`${Number(digits) / 1024}${next}`) : text;
}

function readable(amounts: Readonly<Record<string, unknown>>): Record<string, string> {
  return Object.fromEntries(Object.entries(amounts).map(([name, amount]) => [name, String(amount)]));
}
