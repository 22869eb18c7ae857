import { describeError, sleep } from "@fjord/base";
import { isNotFound, Node, Pod, requestFor } from "@fjord/kube";
import type { ControlLoop, ControlMeans } from "../control-loop.ts";
import { Loop, unlessGone } from "../loop.ts";
import { markDisrupted } from "./disruption-target.ts";
import { collectionOf } from "./pod-collection.ts";

const EVERY_MS = 20_000;
/** A node that has just gone may come back under the same name. */
const QUARANTINE_MS = 40_000;

/** Deletes pods that no node will. */
export const podCollector: ControlLoop = (means) => {
  const loop = new Loop(means, "pod-garbage-collector");
  const pods = loop.open(Pod);
  const nodes = loop.open(Node);
  /** Since when a node has been missed. */
  const missed = new Map<string, number>();
  return loop.meanwhile(async (stop) => {
    while (!stop.aborted) {
      const found = collectionOf(pods.list(), (name) => nodes.get({ name }) !== undefined);
      const now = means.clock.now();
      const gone = new Set(found.orphans.map(({ spec }) => spec?.nodeName ?? ""));
      for (const name of missed.keys()) if (!gone.has(name)) missed.delete(name);
      for (const name of gone) if (!missed.has(name)) missed.set(name, now);
      const lost = found.orphans.filter(({ spec }) => now - (missed.get(spec?.nodeName ?? "") ?? now) >= QUARANTINE_MS);
      try {
        for (const pod of lost) await collectOrphan(means, pod, stop);
        for (const pod of [...found.unscheduled, ...found.surplus]) await remove(means, pod, stop);
      } catch (error) {
        if (!stop.aborted) means.logger.warn("cannot collect pods", { error: describeError(error) });
      }
      await sleep(means.clock, EVERY_MS, stop);
    }
  });
};

async function collectOrphan(means: ControlMeans, pod: Pod, signal: AbortSignal): Promise<void> {
  try {
    await means.client.get(Node, { name: pod.spec?.nodeName ?? "" }, { signal });
    return;
  } catch (error) {
    if (!isNotFound(error)) throw error;
  }
  const disruption = { reason: "DeletionByPodGC", message: "PodGC: node no longer exists", failed: true };
  await markDisrupted(means.client, pod, disruption, means.clock.now(), signal);
  await remove(means, pod, signal);
}

async function remove({ client }: ControlMeans, pod: Pod, signal: AbortSignal): Promise<void> {
  const preconditions = { uid: pod.metadata.uid };
  await unlessGone(client.delete(Pod, requestFor(pod), { gracePeriodSeconds: 0, preconditions, signal }));
}
