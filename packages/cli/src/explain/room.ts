import type { Contract } from "@fjord/api";
import { amountsOf, type Node, type Pod, podRequests, quantitiesOf, type ResourceAmounts, sum } from "@fjord/kube";

/** A resource of which a pod asks for more than there is altogether, whoever else uses it. */
export interface Lack {
  readonly resource: string;
  readonly asked: string;
  readonly most: string;
  /** How much there would have to be altogether, where others use some of it. */
  readonly needed?: string;
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

/** What one pod asks for and none of some nodes has left beside the pods on them; nothing where one of them has room. */
export function lackOfRoom(pod: Pod, nodes: readonly Node[], pods: readonly Pod[]): Lack[] {
  if (nodes.length === 0 || nodes.some(({ status }) => status?.allocatable === undefined)) return [];
  const asked = withItself(pod);
  const all = nodes.map((node) => {
    const used = pods.filter((each) => isOn(each, node)).reduce((sums, each) => sum(sums, withItself(each)), NOTHING);
    const whole = amountsOf(readable(node.status?.allocatable ?? {}));
    const left = new Map([...whole].map(([name, amount]) => [name, larger(0n, amount - (used.get(name) ?? 0n))]));
    return { used, left };
  });
  const lacksOf = (left: ResourceAmounts) =>
    lacks(asked, (name) => left.get(name) ?? (name === "pods" ? undefined : 0n));
  if (all.some(({ left }) => lacksOf(left).length === 0)) return [];
  const [only] = all;
  if (all.length > 1 || only === undefined) {
    const names = new Set(all.flatMap(({ left }) => [...left.keys()]));
    const most = new Map(
      [...names].map((name) => [name, all.reduce((a, { left }) => larger(a, left.get(name) ?? 0n), 0n)]),
    );
    return lacksOf(most);
  }
  return lacksOf(only.left).map((lack) => {
    const whole = (only.used.get(lack.resource) ?? 0n) + (asked.get(lack.resource) ?? 0n);
    return { ...lack, needed: textOf(lack.resource, whole) };
  });
}

const NOTHING: ResourceAmounts = new Map();

function withItself(pod: Pod): ResourceAmounts {
  return sum(podRequests(pod), amountsOf({ pods: 1 }));
}

function isOn({ spec, status }: Pod, { metadata }: Node): boolean {
  return spec?.nodeName === metadata.name && status?.phase !== "Succeeded" && status?.phase !== "Failed";
}

function larger(a: bigint, b: bigint): bigint {
  return a > b ? a : b;
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
    return [{ resource, asked: textOf(resource, amount), most: textOf(resource, limit) }];
  });
}

function textOf(resource: string, value: bigint): string {
  return inLargeUnits(quantitiesOf(new Map([[resource, value]]))[resource] ?? "");
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
