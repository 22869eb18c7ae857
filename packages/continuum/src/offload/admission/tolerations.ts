import { DRAINED_TAINT, VIRTUAL_NODE } from "@fjord/api";
import type { Pod } from "@fjord/kube";

export type Toleration = NonNullable<NonNullable<Pod["spec"]>["tolerations"]>[number];

/** Whether the taint of virtual nodes keeps such pods away no more, be it that they tolerate every taint. */
export function toleratesVirtualNodes(tolerations: readonly Toleration[]): boolean {
  return tolerate(tolerations, VIRTUAL_NODE);
}

/** Whether such pods come also onto a virtual node that is to be empty. */
export function toleratesDrained(tolerations: readonly Toleration[]): boolean {
  return tolerate(tolerations, DRAINED_TAINT);
}

/** Of a taint with the value `true` that lets no pods come. */
function tolerate(tolerations: readonly Toleration[], taint: string): boolean {
  return tolerations.some(
    ({ key = "", operator = "Equal", effect, value = "" }) =>
      (effect || "NoSchedule") === "NoSchedule" &&
      (operator === "Exists" ? key === "" || key === taint : key === taint && value === "true"),
  );
}

/** Whether a toleration that lets pods onto virtual nodes names them: then they are meant to be there. */
export function addressesVirtualNodes(tolerations: readonly Toleration[]): boolean {
  return toleratesVirtualNodes(tolerations.filter(({ key }) => key === VIRTUAL_NODE));
}
