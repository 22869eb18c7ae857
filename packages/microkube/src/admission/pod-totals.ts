import type { Pod } from "@fjord/kube";
import { type Amounts, added, amounts, largest } from "./amount.ts";

type Which = "requests" | "limits";
type Container = NonNullable<Pod["spec"]>["containers"][number];

/**
 * What all containers of a pod ask for at its peak, as quotas and limit ranges count: a container without a limit adds
 * nothing to the limits. `ofContainer` may say otherwise for one.
 */
export function podTotals(
  { spec }: Pod,
  which: Which,
  ofContainer: (container: Container, which: Which) => Amounts = declared,
): Amounts {
  let sidecars: Amounts = new Map();
  let most: Amounts = new Map();
  for (const container of spec?.initContainers ?? []) {
    const own = ofContainer(container, which);
    if (container.restartPolicy === "Always") sidecars = added(sidecars, own);
    most = largest(most, container.restartPolicy === "Always" ? sidecars : added(own, sidecars));
  }
  let mains: Amounts = new Map();
  for (const container of spec?.containers ?? []) mains = added(mains, ofContainer(container, which));
  const whole = amounts(spec?.resources?.[which]);
  const ofPod = [...whole].filter(([name]) => name === "cpu" || name === "memory" || name.startsWith("hugepages-"));
  return new Map([...largest(added(mains, sidecars), most), ...ofPod]);
}

export const declared = ({ resources }: Container, which: Which): Amounts => amounts(resources?.[which]);
