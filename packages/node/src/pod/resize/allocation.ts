import type { Pod } from "@fjord/kube";
import { parseQuantity } from "@fjord/kube";
import { annotations } from "../annotations.ts";
import { newest, type ObservedPod } from "../observed-pod.ts";
import { type Container, containersOf } from "../pod-containers.ts";

export type Requirements = NonNullable<Container["resources"]>;

/** What the node has granted to the containers of a pod, by name. A wish for more is a wish until it is in here. */
export type Allocation = Readonly<Record<string, Requirements>>;

/** Stands for the pod as a whole among the names of containers, which are never empty. */
export const WHOLE_POD = "";

/** As the pod asks for. */
export function wantedAllocation(pod: Pod): Allocation {
  const containers = containersOf(pod).map(({ name, spec }) => [name, spec.resources ?? {}] as const);
  return Object.fromEntries([[WHOLE_POD, pod.spec?.resources ?? {}], ...containers]);
}

/** What containers were made with, where they were; it holds until the node has granted something else. */
export function initialAllocation(pod: Pod, observed: ObservedPod): Allocation {
  const noted = (holder: { annotations: Readonly<Record<string, string>> } | undefined, wanted: Requirements = {}) => {
    const text = holder?.annotations[annotations.resources];
    return text === undefined ? wanted : parseRequirements(text);
  };
  const containers = containersOf(pod).map(
    ({ name, spec }) => [name, noted(newest(observed, name), spec.resources)] as const,
  );
  return Object.fromEntries([[WHOLE_POD, noted(observed.sandbox, pod.spec?.resources)], ...containers]);
}

/** The pod with what was granted in place of what it asks for. */
export function withAllocation(pod: Pod, allocation: Allocation): Pod {
  const { spec } = pod;
  if (spec === undefined) return pod;
  const granted = <T extends Container>(container: T): T => {
    const resources = allocation[container.name];
    return resources === undefined ? container : { ...container, resources };
  };
  const { initContainers, containers } = spec;
  const changed = {
    ...spec,
    containers: containers.map(granted),
    ...(initContainers && { initContainers: initContainers.map(granted) }),
  };
  const whole = allocation[WHOLE_POD];
  if (spec.resources === undefined || whole === undefined) return { ...pod, spec: changed };
  return { ...pod, spec: { ...changed, resources: whole } };
}

/** Whether two mean the same, however they write it. Only processors and memory can be changed. */
export function sameRequirements(a: Requirements = {}, b: Requirements = {}): boolean {
  return changedResources(a, b).length === 0;
}

/** Which of `cpu` and `memory` differ. */
export function changedResources(a: Requirements = {}, b: Requirements = {}): ("cpu" | "memory")[] {
  return (["cpu", "memory"] as const).filter(
    (name) => !sameAmount(a.requests?.[name], b.requests?.[name]) || !sameAmount(a.limits?.[name], b.limits?.[name]),
  );
}

export function sameAllocation(a: Allocation, b: Allocation): boolean {
  return Object.keys({ ...a, ...b }).every((name) => sameRequirements(a[name], b[name]));
}

export function parseRequirements(text: string): Requirements {
  try {
    return JSON.parse(text);
  } catch {
    // Only this node writes it; what is not JSON was cut off by the runtime.
    return {};
  }
}

function sameAmount(a: string | number | undefined, b: string | number | undefined): boolean {
  // Not only the quicker way: what was refused for being no amount is looked at too.
  if (a === undefined || b === undefined || a === b) return a === b;
  return parseQuantity(a) === parseQuantity(b);
}
