import type { Pod } from "@fjord/kube";
import { parseQuantity } from "@fjord/kube";

/** Where a pod has something in place of an amount that is none, each with what it has. Real API servers take no such pod. */
export function unreadableQuantities({ spec }: Pod): string[] {
  const containers = [...(spec?.initContainers ?? []), ...(spec?.containers ?? [])];
  const maps: [string, unknown][] = [
    ...containers.flatMap(({ name, resources }) => [
      [`requests of container ${name}`, resources?.requests] as [string, unknown],
      [`limits of container ${name}`, resources?.limits] as [string, unknown],
    ]),
    ["requests of the pod", spec?.resources?.requests],
    ["limits of the pod", spec?.resources?.limits],
    ["overhead of the pod", spec?.overhead],
    ...(spec?.volumes ?? []).flatMap(({ name, emptyDir }): [string, unknown][] =>
      emptyDir?.sizeLimit === undefined ? [] : [[`volume ${name}`, { sizeLimit: emptyDir.sizeLimit }]],
    ),
  ];
  return maps.flatMap(([place, amounts]) => unreadable(amounts).map((problem) => `${place}: ${problem}`));
}

function unreadable(amounts: unknown): string[] {
  if (amounts === undefined || amounts === null) return [];
  if (typeof amounts !== "object") return [`${JSON.stringify(amounts)} is no map of amounts`];
  return Object.entries(amounts).flatMap(([name, amount]) =>
    isQuantity(amount) ? [] : [`${name} is ${JSON.stringify(amount)}, which is no amount`],
  );
}

function isQuantity(amount: unknown): boolean {
  if (typeof amount !== "string" && typeof amount !== "number") return false;
  try {
    parseQuantity(amount);
    return true;
  } catch {
    return false;
  }
}
