import type { Pod } from "../kinds/index.ts";
import { parseQuantity } from "./quantity.ts";

export type QosClass = "Guaranteed" | "Burstable" | "BestEffort";

type Amounts = Readonly<Record<string, string | number>>;

/** How well a pod is served when the node runs short, by what its containers ask for. */
export function qosClass(pod: Pick<Pod, "spec">): QosClass {
  const { spec } = pod;
  const all =
    spec?.resources === undefined
      ? [...(spec?.initContainers ?? []), ...(spec?.containers ?? [])].map(({ resources }) => resources ?? {})
      : [spec.resources];
  const amounts = all.map(({ limits = {}, requests = {} }) => ({ limits: known(limits), requests: known(requests) }));
  if (amounts.every(({ limits, requests }) => isEmpty(limits) && isEmpty(requests))) return "BestEffort";
  return amounts.every(isFixed) ? "Guaranteed" : "Burstable";
}

/** Processors and memory limited, and no less requested. */
function isFixed({ limits, requests }: { limits: Amounts; requests: Amounts }): boolean {
  return ["cpu", "memory"].every((name) => {
    const limit = limits[name];
    if (limit === undefined) return false;
    const request = requests[name] ?? limit;
    return parseQuantity(request) === parseQuantity(limit);
  });
}

function known(amounts: Amounts): Amounts {
  return Object.fromEntries(
    Object.entries(amounts).filter(([name, amount]) => ["cpu", "memory"].includes(name) && parseQuantity(amount) > 0n),
  );
}

function isEmpty(amounts: Amounts): boolean {
  return Object.keys(amounts).length === 0;
}
