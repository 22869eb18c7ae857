import { VIRTUAL_NODE } from "@fjord/api";
import { type DaemonSet, type Pod, sameContent } from "@fjord/kube";
import { type Affinity, narrowed } from "./node-affinity.ts";
import { isDaemonPod } from "./pod-placement.ts";
import { addressesVirtualNodes, toleratesVirtualNodes } from "./tolerations.ts";

/**
 * The affinity that keeps a DaemonSet off virtual nodes, where nothing else does: those that tolerate every taint mean
 * the machines of this cluster. Undefined where nothing is to be changed, be it that the DaemonSet names virtual nodes.
 */
export function daemonAffinity({ spec }: DaemonSet): Affinity | undefined {
  const { tolerations = [], affinity } = spec?.template.spec ?? {};
  if (!toleratesVirtualNodes(tolerations) || addressesVirtualNodes(tolerations)) return undefined;
  const wanted = narrowed(affinity, [[{ key: VIRTUAL_NODE, operator: "DoesNotExist" }]]);
  return sameContent(wanted, affinity) ? undefined : wanted;
}

/** Whether a pod is on a virtual node only because its DaemonSet tolerates every taint. */
export function isStrayDaemonPod(pod: Pod): boolean {
  return isDaemonPod(pod) && !addressesVirtualNodes(pod.spec?.tolerations ?? []);
}
