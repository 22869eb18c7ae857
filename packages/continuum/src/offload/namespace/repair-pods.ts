import { type Offloading, VIRTUAL_NODE } from "@fjord/api";
import { isNotFound, Pod } from "@fjord/kube";
import type { Home } from "../../home.ts";
import { isDaemonPod, isMade, type Placement, placementOf } from "../admission/pod-placement.ts";
import { addressesVirtualNodes } from "../admission/tolerations.ts";
import { deletePod } from "./bring-home.ts";

/** What can still be done for a pod that came to be before admission knew of its namespace. */
export type Repair = { readonly tolerations: Placement["tolerations"] } | "recreate" | "tell" | "nothing";

/**
 * Tolerations may be added to a pod, and nothing else about where it lands. Others are made again where somebody makes
 * them; those that run, or have a virtual node already, are left alone.
 */
export function repairOf(pod: Pod, offloading: Offloading, isVirtual: (node: string) => boolean): Repair {
  const { spec, metadata } = offloading;
  if (pod.metadata.deletionTimestamp !== undefined || (pod.status?.phase ?? "Pending") !== "Pending") return "nothing";
  const placement = placementOf({ ...pod, spec: { ...pod.spec, nodeName: "" } } as Pod, spec);
  if (placement === undefined || spec.pods === "Local") return "nothing";
  const isBound = (pod.spec?.nodeName ?? "") !== "";
  // One that named the node itself needed nobody's permission to land there.
  if (isBound && (spec.pods === "Both" || isVirtual(pod.spec?.nodeName ?? ""))) return "nothing";
  if (spec.pods === "Both" && placement.affinity === pod.spec?.affinity) return addedTolerations(pod, placement);
  // One that had its node before was not made too early: it was there.
  if (isBound && Date.parse(pod.metadata.creationTimestamp ?? "") < Date.parse(metadata.creationTimestamp ?? ""))
    return "nothing";
  if (isMade(pod)) return "recreate";
  return spec.pods === "Remote" ? "tell" : "nothing";
}

function addedTolerations({ spec }: Pod, { tolerations = [] }: Placement): Repair {
  const present = spec?.tolerations ?? [];
  const virtual = tolerations.filter(({ key }) => key === VIRTUAL_NODE && !present.some((each) => each.key === key));
  return virtual.length === 0 ? "nothing" : { tolerations: [...present, ...virtual] };
}

/** Looks at the pods of a namespace that has just become offloaded. */
export async function repairPods(
  home: Home,
  offloading: Offloading,
  isVirtual: (node: string) => boolean,
  signal: AbortSignal,
): Promise<void> {
  const { client, recorder, logger } = home;
  const { namespace = "" } = offloading.metadata;
  const { items } = await client.list(Pod, {
    namespace,
    fieldSelector: "status.phase=Pending",
    omitManagedFields: true,
    signal,
  });
  for (const pod of items) {
    const repair = repairOf(pod, offloading, isVirtual);
    const { name = "" } = pod.metadata;
    if (repair === "nothing") continue;
    logger.info("a pod was made before its namespace was offloaded", { namespace, pod: name });
    if (repair === "recreate") await deletePod(client, pod, signal);
    else if (repair === "tell") {
      const message =
        "the pod was made before its namespace was offloaded, and stays here: delete it and make it again";
      recorder.event(pod, { type: "Warning", reason: "NotOffloaded", message });
    } else
      await client.patch(Pod, { name, namespace }, "merge", { spec: repair }, { signal }).catch((error: unknown) => {
        if (!isNotFound(error)) throw error;
      });
  }
}

/** What becomes of a pod that may land at other sites still, although its namespace is no longer offloaded. */
export type Recall = "recreate" | "tell" | "nothing";

/** Nobody can take a toleration from a pod: it is made again where somebody makes it. */
export function recallOf(pod: Pod): Recall {
  const mayLeave = addressesVirtualNodes(pod.spec?.tolerations ?? []);
  const isPlaced = (pod.spec?.nodeName ?? "") !== "";
  if (!mayLeave || isPlaced || pod.metadata.deletionTimestamp !== undefined || isDaemonPod(pod)) return "nothing";
  return isMade(pod) ? "recreate" : "tell";
}

const RECALLED =
  "its namespace is no longer offloaded, and a virtual node that the pod may be given yet will refuse it: " +
  "delete it and make it again";

/** Makes those pods of a namespace again that have no node yet, and may get one at another site. Gives those that nobody makes. */
export async function recallPods({ client }: Home, namespace: string, signal: AbortSignal): Promise<Pod[]> {
  const fieldSelector = "spec.nodeName=";
  const { items } = await client.list(Pod, { namespace, fieldSelector, omitManagedFields: true, signal });
  for (const pod of items) if (recallOf(pod) === "recreate") await deletePod(client, pod, signal);
  return items.filter((pod) => recallOf(pod) === "tell");
}

export function tellRecalled({ recorder }: Home, pods: readonly Pod[]): void {
  for (const pod of pods) recorder.event(pod, { type: "Warning", reason: "NotOffloaded", message: RECALLED });
}
