import type { ObjectMeta } from "@fjord/base";
import type { Pod } from "@fjord/kube";

export type PodSpec = NonNullable<Pod["spec"]>;
export type Container = PodSpec["containers"][number];

/** What a pod does that a level forbids. */
export interface Violation {
  /** `privileged` */
  readonly reason: string;
  /** `container "c" must not set securityContext.privileged=true`; may be empty. */
  readonly detail: string;
}

/** Looks for one kind of violation. */
export type PodCheck = (metadata: ObjectMeta, spec: PodSpec) => Violation | undefined;

/** All containers, as pod security sees them. */
export function containersOf(spec: PodSpec): Container[] {
  const { initContainers = [], containers = [], ephemeralContainers = [] } = spec;
  return [...initContainers, ...containers, ...(ephemeralContainers as Container[])];
}

export function namesWhere(spec: PodSpec, isBad: (container: Container) => boolean): string[] {
  return containersOf(spec)
    .filter(isBad)
    .map(({ name }) => name);
}

/** `"a", "b"` */
export const quoted = (texts: readonly string[]) => texts.map((text) => `"${text}"`).join(", ");

export const sortedSet = (texts: Iterable<string>) => [...new Set(texts)].sort();

/** `container "a"`, `containers "a", "b"` */
export function named(what: string, names: readonly string[]): string {
  return `${names.length === 1 ? what : `${what}s`} ${quoted(names)}`;
}

/** `pod and containers "a", "b"` */
export function setters(podIsBad: boolean, containers: readonly string[]): string[] {
  return [...(podIsBad ? ["pod"] : []), ...(containers.length > 0 ? [named("container", containers)] : [])];
}
