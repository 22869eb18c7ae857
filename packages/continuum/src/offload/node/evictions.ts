import { describeError } from "@fjord/base";
import { isConflict, isNotFound, isTooManyRequests, type KubeClient, Pod } from "@fjord/kube";
import { isTerminal } from "@fjord/node/pod-status";
import { isDaemonPod } from "../admission/pod-placement.ts";
import { toleratesDrained } from "../admission/tolerations.ts";

export interface Evicted {
  /** Pods that must still go. */
  readonly left: number;
  /** Those of them that a disruption budget keeps for now: `namespace/name`, and what the API said. */
  readonly refused: readonly { readonly pod: string; readonly reason: string }[];
}

const AT_ONCE = 10;

/**
 * Whether a drain of the node concerns the pod. One of a DaemonSet does too: the taint of a drained node keeps the next one away. Where
 * its DaemonSet tolerates that, it would come again at once, and is left alone as by `kubectl drain --ignore-daemonsets`.
 */
export function isToGo(pod: Pod): boolean {
  return !isTerminal(pod.status?.phase) && !comesAgain(pod);
}

/** Whether there would be the next one at once, however often it is deleted. */
export function comesAgain(pod: Pod): boolean {
  return isDaemonPod(pod) && toleratesDrained(pod.spec?.tolerations ?? []);
}

/** Asks the API to evict pods, which may refuse for as long as disruption budgets say. */
export async function evictPods(client: KubeClient, pods: readonly Pod[], signal: AbortSignal): Promise<Evicted> {
  const refused: { pod: string; reason: string }[] = [];
  const left = await askEach(pods, async (key, uid) => {
    try {
      await client.evict(key, { preconditions: { uid }, signal });
    } catch (error) {
      if (!isTooManyRequests(error)) throw error;
      refused.push({ pod: `${key.namespace}/${key.name}`, reason: describeError(error) });
    }
  });
  return { left, refused };
}

/** What is told of pods that a budget keeps: the same of the same ones, whichever of them was refused first. */
export function refusedEvictions(refused: Evicted["refused"]): string {
  const [first, ...others] = refused.toSorted((a, b) => (a.pod < b.pod ? -1 : 1));
  const whose = others.length === 0 ? `${first?.pod} cannot` : `${refused.length} pods cannot`;
  const among = others.length === 0 ? "" : `, ${first?.pod} among them`;
  return `${whose} be evicted yet${among}: ${first?.reason}`;
}

/** Deletes pods that nothing runs for any more, whatever budgets say, and gives how many must still go. */
export function endPodsOfNoContract(client: KubeClient, pods: readonly Pod[], signal: AbortSignal): Promise<number> {
  return askEach(pods, (key, uid) => client.delete(Pod, key, { preconditions: { uid }, signal }));
}

type Ask = (key: { name: string; namespace: string }, uid: string) => Promise<unknown>;

/** Gives how many pods must go, those included that are on their way already. */
async function askEach(pods: readonly Pod[], ask: Ask): Promise<number> {
  const going = pods.filter(isToGo);
  const waiting = going.filter(({ metadata }) => metadata.deletionTimestamp === undefined);
  const work = waiting.values();
  const worker = async () => {
    for (const { metadata } of work) {
      const { name = "", namespace = "", uid = "" } = metadata;
      await ask({ name, namespace }, uid).catch((error: unknown) => {
        // Gone, or another of its name by now.
        if (!isNotFound(error) && !isConflict(error)) throw error;
      });
    }
  };
  await Promise.all(Array.from({ length: Math.min(AT_ONCE, waiting.length) }, worker));
  return going.length;
}
