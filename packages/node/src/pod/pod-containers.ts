import type { Pod } from "@fjord/kube";

export type PodSpec = NonNullable<Pod["spec"]>;
export type PodStatus = NonNullable<Pod["status"]>;
export type Container = PodSpec["containers"][number];
export type ContainerStatus = NonNullable<PodStatus["containerStatuses"]>[number];
export type PodCondition = NonNullable<PodStatus["conditions"]>[number];
export type Probe = NonNullable<Container["livenessProbe"]>;
export type LifecycleHandler = NonNullable<NonNullable<Container["lifecycle"]>["preStop"]>;

/** What a container is to its pod: sidecars are init containers that stay. */
export type ContainerRole = "init" | "sidecar" | "main" | "ephemeral";

export interface PodContainer {
  readonly role: ContainerRole;
  readonly name: string;
  readonly spec: Container;
  /** Of an ephemeral container: name of the one whose processes it joins. */
  readonly target?: string;
}

/** All containers of a pod: init containers and sidecars in their order, then main ones, then ephemeral ones. */
export function containersOf(pod: Pod): PodContainer[] {
  const { initContainers = [], containers = [], ephemeralContainers = [] } = pod.spec ?? {};
  return [
    ...initContainers.map((spec) => ({
      role: isSidecar(spec) ? ("sidecar" as const) : ("init" as const),
      ...of(spec),
    })),
    ...containers.map((spec) => ({ role: "main" as const, ...of(spec) })),
    ...ephemeralContainers.map((spec) => ({
      role: "ephemeral" as const,
      ...of(spec),
      ...(spec.targetContainerName !== undefined && { target: spec.targetContainerName }),
    })),
  ];
}

export function containerOf(pod: Pod, name: string): PodContainer | undefined {
  return containersOf(pod).find((container) => container.name === name);
}

/** An init container that keeps running beside the others. */
export function isSidecar(container: Container): boolean {
  return container.restartPolicy === "Always";
}

/** `spec.containers{web}`: where events say which container they are about. */
export function fieldPathOf(pod: Pod, name: string): string | undefined {
  const role = containerOf(pod, name)?.role;
  if (role === undefined) return undefined;
  const list = role === "main" ? "containers" : role === "ephemeral" ? "ephemeralContainers" : "initContainers";
  return `spec.${list}{${name}}`;
}

/** `namespace/name`, the way in which logs name pods; with the uid, since another pod may have the name later. */
export function podFields(pod: Pod): { pod: string; uid: string } {
  return { pod: `${pod.metadata.namespace}/${pod.metadata.name}`, uid: uidOf(pod) };
}

/** `name_namespace(uid)`, the way in which messages of nodes name pods. */
export function podText(pod: Pod): string {
  const { name, namespace, uid } = pod.metadata;
  return `${name}_${namespace}(${uid})`;
}

export function uidOf(pod: Pod): string {
  return pod.metadata.uid ?? "";
}

export function isTerminal(phase: string | undefined): boolean {
  return phase === "Failed" || phase === "Succeeded";
}

/** Whether a node has taken the pod on. */
export function hasBegun(pod: Pod): boolean {
  return pod.status?.startTime !== undefined && !isTerminal(pod.status.phase);
}

function of(spec: Container): { name: string; spec: Container } {
  return { name: spec.name, spec };
}
