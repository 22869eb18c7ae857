import { inThousandths, inUnits, type Pod, parseQuantity, podRequests } from "@fjord/kube";
import type { Amounts } from "./snapshot.ts";

/** As numbers: processors in thousandths, all else in units. What cannot be read is left out. */
export function amountsIn(quantities: Readonly<Record<string, string | number>> | undefined): Amounts {
  const entries = Object.entries(quantities ?? {}).flatMap(([name, quantity]): [string, number][] => {
    try {
      const amount = parseQuantity(quantity);
      return [[name, name === "cpu" ? inThousandths(amount) : inUnits(amount)]];
    } catch {
      return [];
    }
  });
  return Object.fromEntries(entries);
}

export function sumOf(all: Iterable<Amounts>): Amounts {
  const sum: Record<string, number> = {};
  for (const amounts of all)
    for (const [name, amount] of Object.entries(amounts)) sum[name] = (sum[name] ?? 0) + amount;
  return sum;
}

/** What a pod requests, and itself as one of `pods`. */
export function requestsOf(pod: Pod): Amounts {
  const amounts: Record<string, number> = { pods: 1 };
  for (const [name, amount] of podRequests(pod))
    amounts[name] = name === "cpu" ? inThousandths(amount) : inUnits(amount);
  return amounts;
}
