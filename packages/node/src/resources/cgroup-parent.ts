import type { Pod } from "@fjord/kube";
import { qosClass } from "./qos-class.ts";

/** The control group of a pod: below that of its class, so that classes can be weighed against each other. */
export function cgroupParent(pod: Pod, root: string): string {
  const quality = qosClass(pod);
  const parent = quality === "Guaranteed" ? "" : `/${quality.toLowerCase()}`;
  return `${root === "/" ? "" : root}/kubepods${parent}/pod${pod.metadata.uid}`;
}
