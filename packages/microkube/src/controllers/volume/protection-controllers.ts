import {
  addFinalizer,
  hasFinalizer,
  isBeingDeleted,
  PersistentVolume,
  PersistentVolumeClaim,
  Pod,
  removeFinalizer,
  watches,
} from "@fjord/kube";
import type { ControlLoop } from "../control-loop.ts";
import { Loop } from "../loop.ts";
import { isPodFinished } from "../workload/pod-state.ts";
import { byClaim, claimKeys } from "./pod-claims.ts";

const CLAIM_FINALIZER = "kubernetes.io/pvc-protection";
const VOLUME_FINALIZER = "kubernetes.io/pv-protection";

/** Keeps claims that pods use until they no longer do. */
export const claimProtectionController: ControlLoop = (means) => {
  const loop = new Loop(means, "pvc-protection-controller");
  const claims = loop.open(PersistentVolumeClaim);
  const pods = loop.open(Pod, { claim: byClaim });
  return loop.reconciles({
    sources: [
      watches(claims),
      watches(pods, {
        when: (change) => change.type === "delete" || isPodFinished(change.object),
        map: (pod) => claimKeys(pod).map((name) => ({ name, namespace: pod.metadata.namespace })),
      }),
    ],
    async reconcile(request, { signal }) {
      const claim = claims.get(request);
      if (claim === undefined) return { type: "done" };
      if (!isBeingDeleted(claim)) {
        await addFinalizer(means.client, PersistentVolumeClaim, claim, CLAIM_FINALIZER, { signal });
        return { type: "done" };
      }
      const users = pods.byIndex("claim", `${request.namespace}/${request.name}`);
      const isUsed = users.some((pod) => pod.spec?.nodeName && !isPodFinished(pod));
      if (isUsed || !hasFinalizer(claim, CLAIM_FINALIZER)) return { type: "done" };
      await removeFinalizer(means.client, PersistentVolumeClaim, claim, CLAIM_FINALIZER, { signal });
      return { type: "done" };
    },
  });
};

/** Keeps volumes that are bound until they no longer are. */
export const volumeProtectionController: ControlLoop = (means) => {
  const loop = new Loop(means, "pv-protection-controller");
  const volumes = loop.open(PersistentVolume);
  return loop.reconciles({
    sources: [watches(volumes)],
    async reconcile(request, { signal }) {
      const volume = volumes.get(request);
      if (volume === undefined) return { type: "done" };
      if (!isBeingDeleted(volume)) {
        await addFinalizer(means.client, PersistentVolume, volume, VOLUME_FINALIZER, { signal });
      } else if (volume.status?.phase !== "Bound" && hasFinalizer(volume, VOLUME_FINALIZER)) {
        await removeFinalizer(means.client, PersistentVolume, volume, VOLUME_FINALIZER, { signal });
      }
      return { type: "done" };
    },
  });
};
