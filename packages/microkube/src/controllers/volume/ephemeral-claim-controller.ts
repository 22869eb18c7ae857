import { isAlreadyExists, isBeingDeleted, PersistentVolumeClaim, Pod, watches } from "@fjord/kube";
import type { ControlLoop } from "../control-loop.ts";
import { isNamespaceTerminating, Loop, reasonOf } from "../loop.ts";
import { controllerReference, isControlledBy } from "../ownership.ts";

/** Makes the claims of volumes that live and die with their pod. */
export const ephemeralClaimController: ControlLoop = (means) => {
  const loop = new Loop(means, "ephemeral-volume-controller", "ephemeral_volume");
  const pods = loop.open(Pod);
  const claims = loop.open(PersistentVolumeClaim);
  return loop.reconciles({
    sources: [
      watches(pods, {
        when: ({ type, object }) => type === "add" && object.spec?.volumes?.some(({ ephemeral }) => ephemeral) === true,
      }),
    ],
    async reconcile(request, { signal }) {
      const pod = pods.get(request);
      if (pod === undefined || isBeingDeleted(pod)) return { type: "done" };
      for (const { name: volume, ephemeral } of pod.spec?.volumes ?? []) {
        const template = ephemeral?.volumeClaimTemplate;
        if (template === undefined) continue;
        const name = `${request.name}-${volume}`;
        const found = claims.get({ name, namespace: request.namespace });
        if (found !== undefined) {
          // Another's claim of that name must not be taken for the pod's own: that would be somebody else's data.
          if (!isControlledBy(found, pod))
            throw new Error(
              `PVC "${request.namespace}/${name}" was not created for pod "${request.namespace}/${request.name}" (pod is not owner)`,
            );
          continue;
        }
        const { labels, annotations } = template.metadata ?? {};
        const metadata = {
          name,
          namespace: request.namespace,
          ...(labels && { labels }),
          ...(annotations && { annotations }),
          ownerReferences: [controllerReference(Pod, pod)],
        };
        const claim = { apiVersion: "v1", kind: "PersistentVolumeClaim", metadata, spec: template.spec } as const;
        try {
          await means.client.create(PersistentVolumeClaim, claim, { signal });
        } catch (error) {
          if (isAlreadyExists(error) || isNamespaceTerminating(error)) continue;
          const message = `ephemeral volume claim "${name}": ${reasonOf(error)}`;
          loop.event(pod, "Warning", "FailedCreateEphemeralVolumeClaim", message);
          throw error;
        }
      }
      return { type: "done" };
    },
  });
};
