import { describeError } from "@fjord/base";
import { isNotFound, isTooManyRequests, type KubeClient, type Pod } from "@fjord/kube";
import { isTerminal } from "@fjord/node/pod-status";

export interface Evicted {
  /** Pods that must still go. */
  readonly left: number;
  /** Those of them that a disruption budget keeps for now: `namespace/name`, and what the API said. */
  readonly refused: readonly { readonly pod: string; readonly reason: string }[];
}

const AT_ONCE = 10;

/** Whether a drain of the node concerns the pod, as `kubectl drain --ignore-daemonsets` sees it. */
export function isToGo(pod: Pod): boolean {
  if (isTerminal(pod.status?.phase)) return false;
  return !pod.metadata.ownerReferences?.some(({ kind, controller }) => controller === true && kind === "DaemonSet");
}

/** Asks the API to evict pods, which may refuse for as long as disruption budgets say. */
export async function evictPods(client: KubeClient, pods: readonly Pod[], signal: AbortSignal): Promise<Evicted> {
  const going = pods.filter(isToGo);
  const waiting = going.filter(({ metadata }) => metadata.deletionTimestamp === undefined);
  const refused: { pod: string; reason: string }[] = [];
  const work = waiting.values();
  const worker = async () => {
    for (const { metadata } of work) {
      const { name = "", namespace = "", uid = "" } = metadata;
      try {
        await client.evict({ name, namespace }, { preconditions: { uid }, signal });
      } catch (error) {
        if (isTooManyRequests(error)) refused.push({ pod: `${namespace}/${name}`, reason: describeError(error) });
        else if (!isNotFound(error)) throw error;
      }
    }
  };
  await Promise.all(Array.from({ length: Math.min(AT_ONCE, waiting.length) }, worker));
  return { left: going.length, refused };
}
