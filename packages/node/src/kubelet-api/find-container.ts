import type { Pod } from "@fjord/kube";
import type { KubeletBackend } from "./backend.ts";
import { ContainerNotHere, PodNotHere } from "./errors.ts";
import type { PodAddress } from "./route.ts";

/** The pod that a request means; throws where it is not here. */
export function findPod(backend: KubeletBackend, { namespace, pod: name, uid }: PodAddress): Pod {
  const pod = backend
    .pods()
    .find(
      ({ metadata }) =>
        metadata?.name === name && metadata.namespace === namespace && (uid === undefined || metadata.uid === uid),
    );
  if (pod === undefined) throw new PodNotHere({ pod: name });
  return pod;
}

/** Throws where the pod has no such container. */
export function checkContainer(pod: Pod, container: string): void {
  const { containers = [], initContainers = [], ephemeralContainers = [] } = pod.spec ?? {};
  const all = [...containers, ...initContainers, ...ephemeralContainers];
  if (!all.some(({ name }) => name === container)) throw new ContainerNotHere({ container, pod: pod.metadata?.name });
}
