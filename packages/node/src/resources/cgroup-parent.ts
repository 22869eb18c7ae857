import type { Pod } from "@fjord/kube";
import { qosClass } from "@fjord/kube";

/** The control group of a pod: below that of its class, so that classes can be weighed against each other. */
export function cgroupParent(pod: Pod, root: string): string {
  return groupOf(pod.metadata.uid ?? "", qosClass(pod), root);
}

/** Where the control group of a pod may be of which only the uid is known. */
export function cgroupParents(podUid: string, root: string): string[] {
  return (["Guaranteed", "Burstable", "BestEffort"] as const).map((quality) => groupOf(podUid, quality, root));
}

function groupOf(podUid: string, quality: ReturnType<typeof qosClass>, root: string): string {
  const parent = quality === "Guaranteed" ? "" : `/${quality.toLowerCase()}`;
  return `${root === "/" ? "" : root}/kubepods${parent}/pod${podUid}`;
}
