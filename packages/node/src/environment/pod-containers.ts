import type { Pod } from "@fjord/kube";

export type PodSpec = NonNullable<Pod["spec"]>;
/** What ordinary, init and ephemeral containers have in common. */
export type Container = PodSpec["containers"][number];

/** All containers of a pod: those that run first come first. */
export function allContainers(pod: Pod): Container[] {
  const { initContainers = [], containers = [], ephemeralContainers = [] } = pod.spec ?? {};
  return [...initContainers, ...containers, ...(ephemeralContainers as Container[])];
}

/** Those that a pod begins with: ephemeral ones join it later, each for itself. */
export function firstContainers(pod: Pod): Container[] {
  const { initContainers = [], containers = [] } = pod.spec ?? {};
  return [...initContainers, ...containers];
}

/** A container of any sort by its name. */
export function findContainer(pod: Pod, name: string): Container | undefined {
  return allContainers(pod).find((container) => container.name === name);
}
