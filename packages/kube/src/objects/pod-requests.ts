import type { Pod } from "../kinds/index.ts";
import { formatBytes, formatProcessors, inThousandths, inUnits, parseQuantity, type Quantity } from "./quantity.ts";

/** Amounts by name of resource. */
export type ResourceAmounts = ReadonlyMap<string, Quantity>;

type Which = "requests" | "limits";

/**
 * What a pod asks for at its peak: either main containers and sidecars together, or an init container with the sidecars
 * before it, whichever is more; and the overhead of its runtime class.
 */
export function podRequests(pod: Pod): ResourceAmounts {
  return withOverhead(pod, withWhole(pod, "requests", peak(pod, "requests")));
}

/** What a pod may use at most; only of resources that each of its main containers has a limit for. */
export function podLimits(pod: Pod): ResourceAmounts {
  const limits = new Map(peak(pod, "limits"));
  for (const name of limits.keys()) {
    const isBounded = (pod.spec?.containers ?? []).every(({ resources }) => resources?.limits?.[name] !== undefined);
    const isBoundedBefore = (pod.spec?.initContainers ?? []).every(
      ({ resources }) => resources?.limits?.[name] !== undefined,
    );
    if (!isBounded || !isBoundedBefore) limits.delete(name);
  }
  return withOverhead(pod, withWhole(pod, "limits", limits), (name) => limits.has(name));
}

function peak(pod: Pod, which: Which): ResourceAmounts {
  let sidecars: ResourceAmounts = new Map();
  let most: ResourceAmounts = new Map();
  for (const { restartPolicy, resources } of pod.spec?.initContainers ?? []) {
    const own = amountsOf(resources?.[which] ?? {});
    if (restartPolicy === "Always") sidecars = sum(sidecars, own);
    most = larger(most, restartPolicy === "Always" ? sidecars : sum(sidecars, own));
  }
  const mains = (pod.spec?.containers ?? []).map(({ resources }) => amountsOf(resources?.[which] ?? {}));
  return larger(most, mains.reduce(sum, sidecars));
}

/** What is given for the pod as a whole counts instead of the sum. */
function withWhole(pod: Pod, which: Which, amounts: ResourceAmounts): ResourceAmounts {
  return new Map([...amounts, ...amountsOf(pod.spec?.resources?.[which] ?? {})]);
}

function withOverhead(
  pod: Pod,
  amounts: ResourceAmounts,
  counts: (name: string) => boolean = () => true,
): ResourceAmounts {
  const overhead = [...amountsOf(pod.spec?.overhead ?? {})].filter(([name]) => counts(name));
  return sum(amounts, new Map(overhead));
}

export function amountsOf(quantities: Readonly<Record<string, string | number>>): ResourceAmounts {
  return new Map(Object.entries(quantities).map(([name, quantity]) => [name, parseQuantity(quantity)]));
}

/** As the API writes them. */
export function quantitiesOf(amounts: ResourceAmounts): Record<string, string> {
  return Object.fromEntries([...amounts].map(([name, amount]) => [name, formatAmount(name, amount)]));
}

function formatAmount(name: string, amount: Quantity): string {
  if (name === "cpu") return formatProcessors(inThousandths(amount));
  const isBytes = name === "memory" || name === "ephemeral-storage" || name.startsWith("hugepages-");
  return isBytes ? formatBytes(inUnits(amount)) : String(inUnits(amount));
}

export function sum(a: ResourceAmounts, b: ResourceAmounts): ResourceAmounts {
  const all = new Map(a);
  for (const [name, amount] of b) all.set(name, (all.get(name) ?? 0n) + amount);
  return all;
}

function larger(a: ResourceAmounts, b: ResourceAmounts): ResourceAmounts {
  const all = new Map(a);
  for (const [name, amount] of b) if (amount > (all.get(name) ?? 0n)) all.set(name, amount);
  return all;
}
