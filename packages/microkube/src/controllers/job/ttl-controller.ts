import { isBeingDeleted, Job, requestFor, watches } from "@fjord/kube";
import type { ControlLoop } from "../control-loop.ts";
import { again, Loop, unlessGone } from "../loop.ts";
import { timeOf } from "../workload/pod-state.ts";

/** When a Job that has ended may go, in milliseconds since the epoch; undefined where it stays. */
export function expiryOf({ spec, status, metadata }: Job): number | undefined {
  if (spec?.ttlSecondsAfterFinished === undefined || metadata.deletionTimestamp !== undefined) return undefined;
  const end = status?.conditions?.find(
    ({ type, status }) => (type === "Complete" || type === "Failed") && status === "True",
  );
  const ended = timeOf(end?.lastTransitionTime);
  return ended === undefined ? undefined : ended + spec.ttlSecondsAfterFinished * 1000;
}

/** Deletes Jobs some time after they have ended, if they ask for it. */
export const ttlAfterFinishedController: ControlLoop = (means) => {
  const loop = new Loop(means, "ttl-after-finished-controller");
  const jobs = loop.open(Job);
  return loop.reconciles({
    sources: [watches(jobs, { when: ({ object }) => expiryOf(object) !== undefined })],
    async reconcile(request, { signal }) {
      const cached = jobs.get(request);
      const expiry = cached && expiryOf(cached);
      if (expiry === undefined) return { type: "done" };
      const left = expiry - means.clock.now();
      if (left > 0) return again(left);
      // By the server's word: somebody may have asked for more time.
      const job = await unlessGone(means.client.get(Job, request, { signal }));
      const still = job && expiryOf(job);
      if (job === undefined || still === undefined || isBeingDeleted(job)) return { type: "done" };
      if (still > means.clock.now()) return again(still - means.clock.now());
      const { uid, resourceVersion } = job.metadata;
      const preconditions = { uid, resourceVersion };
      await unlessGone(
        means.client.delete(Job, requestFor(job), { propagationPolicy: "Foreground", preconditions, signal }),
      );
      return { type: "done" };
    },
  });
};
