import type { RuntimeContainer, RuntimeSandbox } from "../runtime/index.ts";

/** What a runtime has of one pod. */
export interface ObservedPod {
  /** Newest first. */
  readonly sandboxes: readonly RuntimeSandbox[];
  /** The newest one, whatever its state. */
  readonly sandbox?: RuntimeSandbox;
  /** Of all sandboxes, by name, newest first. */
  readonly containers: ReadonlyMap<string, readonly RuntimeContainer[]>;
}

export const nothingObserved: ObservedPod = { sandboxes: [], containers: new Map() };

/** Puts in order what a runtime has of one pod; its own order is not relied on. */
export function observePod(found: readonly RuntimeSandbox[]): ObservedPod {
  if (found.length === 0) return nothingObserved;
  const sandboxes = [...found].sort((a, b) => b.attempt - a.attempt || b.createdAt - a.createdAt);
  const containers = new Map<string, RuntimeContainer[]>();
  for (const container of sandboxes.flatMap((sandbox) => sandbox.containers)) {
    const others = containers.get(container.name);
    if (others === undefined) containers.set(container.name, [container]);
    else others.push(container);
  }
  for (const list of containers.values()) list.sort((a, b) => b.attempt - a.attempt || b.createdAt - a.createdAt);
  const [sandbox] = sandboxes;
  return { sandboxes, ...(sandbox && { sandbox }), containers };
}

export function newest(observed: ObservedPod, name: string): RuntimeContainer | undefined {
  return observed.containers.get(name)?.[0];
}

/** Whether it has processes, or may have. */
export function isAlive(container: RuntimeContainer): boolean {
  return container.state === "running" || container.state === "unknown";
}

export function aliveContainers(observed: ObservedPod): RuntimeContainer[] {
  return [...observed.containers.values()].flat().filter(isAlive);
}

/** Changes exactly when something changes that a pod's worker would act on or report. */
export function fingerprint(sandboxes: readonly RuntimeSandbox[]): string {
  return JSON.stringify(
    sandboxes.map(({ id, state, addresses, containers }) => [
      id,
      state,
      addresses,
      containers.map((c) => [c.id, c.state, c.startedAt, c.finishedAt, c.exitCode, c.reason, c.resources]),
    ]),
  );
}
