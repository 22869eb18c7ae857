import type { ContainerStatus } from "@fjord/node/pod-status";

type ContainerState = NonNullable<ContainerStatus["state"]>;

/** When a run of a container began and ended. */
export interface RunTimes {
  readonly startedAt?: string;
  readonly finishedAt?: string;
}

/** A run by its id, or by its number where the provider gives none. */
export function runKey(containerID: string | undefined, restartCount: number): string {
  return containerID ?? `${restartCount}`;
}

/** What home has been told of a container's runs. It stays so, however late and by which clock it is told again. */
export function toldRuns(before: ContainerStatus | undefined): ReadonlyMap<string, RunTimes> {
  const runs = new Map<string, RunTimes>();
  if (before === undefined) return runs;
  const { state, lastState, containerID, restartCount } = before;
  const note = ({ running, terminated }: ContainerState, id: string | undefined, number: number) => {
    const run = terminated ?? running;
    if (run !== undefined) runs.set(runKey(id, number), run);
  };
  if (lastState) note(lastState, lastState.terminated?.containerID, restartCount - 1);
  if (state) note(state, state.terminated === undefined ? containerID : state.terminated.containerID, restartCount);
  return runs;
}
