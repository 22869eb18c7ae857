import type { ContainerStatus } from "@fjord/node/pod-status";
import { countOf, type Fields, fieldsOf, integerOf, notAfter, textOf, timeOf, wordOf } from "./sane.ts";
import { type RunTimes, runKey, toldRuns } from "./told-runs.ts";

export interface TimeBounds {
  readonly earliest: number;
  /** Nothing has happened that is yet to come. */
  readonly latest: number;
  /** By how many milliseconds the clock is ahead that the times are said by. */
  readonly ahead: number;
}

type ContainerState = NonNullable<ContainerStatus["state"]>;

/** Longest message of a container that Kubernetes itself keeps. */
const LONGEST_MESSAGE = 12 * 1024;

/** The status of one container, read from what a provider says of it. */
export function containerStatus(
  name: string,
  image: string | undefined,
  given: unknown,
  before: ContainerStatus | undefined,
  recreations: number,
  times: TimeBounds,
): ContainerStatus {
  const status = fieldsOf(given);
  const containerID = textOf(status.containerID, 256);
  // A pod that was made again has restarted, as far as anyone at home can tell.
  const restartCount = Math.max(before?.restartCount ?? 0, countOf(countOf(status.restartCount) + recreations));
  const told = toldRuns(before);
  const toldOf = (id: string | undefined, number: number) => told.get(runKey(id, number)) ?? {};
  const state = containerState(status.state, times, (ended) => toldOf(ended ? ended.id : containerID, restartCount));
  const lastState = containerState(status.lastState, times, (ended) => toldOf(ended?.id, restartCount - 1));
  return {
    name,
    image: textOf(status.image, 1024) ?? image ?? "",
    imageID: textOf(status.imageID, 1024) ?? "",
    ...(containerID && { containerID }),
    // Of init containers those are ready that have done their work.
    ready: status.ready === true && (state.running !== undefined || state.terminated?.exitCode === 0),
    started: status.started === true,
    restartCount,
    state,
    ...(Object.keys(lastState).length > 0 && { lastState }),
    ...resources(status),
  };
}

/** What home knows of the run that is told of; of one that has ended, its own id. */
type ToldOf = (ended?: { readonly id: string | undefined }) => RunTimes;

function containerState(given: unknown, times: TimeBounds, toldOf: ToldOf): ContainerState {
  const { running, terminated, waiting } = fieldsOf(given);
  if (isObject(terminated)) return { terminated: terminatedState(terminated, times, toldOf) };
  if (isObject(running)) {
    const { startedAt } = runTimes(running, times, toldOf());
    return { running: { ...(startedAt && { startedAt }) } };
  }
  if (isObject(waiting)) {
    const reason = wordOf(waiting.reason);
    const message = textOf(waiting.message, LONGEST_MESSAGE);
    return { waiting: { ...(reason && { reason }), ...(message && { message }) } };
  }
  return {};
}

function terminatedState(given: Fields, times: TimeBounds, toldOf: ToldOf): NonNullable<ContainerState["terminated"]> {
  const reason = wordOf(given.reason);
  const message = textOf(given.message, LONGEST_MESSAGE);
  const containerID = textOf(given.containerID, 256);
  const { startedAt, finishedAt } = runTimes(given, times, toldOf({ id: containerID }));
  const signal = integerOf(given.signal);
  return {
    exitCode: integerOf(given.exitCode) ?? 255,
    ...(signal && { signal }),
    ...(reason && { reason }),
    ...(message && { message }),
    ...(startedAt && { startedAt }),
    ...(finishedAt && { finishedAt }),
    ...(containerID && { containerID }),
  };
}

/** What was told stays: a time that was yet to come would be another one at each look. */
function runTimes(given: Fields, { earliest, latest, ahead }: TimeBounds, told: RunTimes): RunTimes {
  const end = notAfter(told.finishedAt, latest);
  const startedAt =
    notAfter(told.startedAt, latest) ??
    timeOf(given.startedAt, earliest, end === undefined ? latest : Date.parse(end), ahead);
  const begin = startedAt === undefined ? earliest : Date.parse(startedAt);
  const finishedAt = end ?? timeOf(given.finishedAt, begin, latest, ahead);
  return { ...(startedAt && { startedAt }), ...(finishedAt && { finishedAt }) };
}

const quantity = /^[0-9]{1,18}(\.[0-9]{1,9})?([numkMGTPE]|[KMGTPE]i)?$/;

/** What the container has been given, for whoever resizes it in place. */
function resources(status: Fields): Pick<ContainerStatus, "resources" | "allocatedResources"> {
  const allocated = amounts(status.allocatedResources);
  const { requests, limits } = fieldsOf(status.resources);
  const actual = { requests: amounts(requests), limits: amounts(limits) };
  return {
    ...(allocated && { allocatedResources: allocated }),
    // Its presence alone says that the node can resize the container.
    ...(isObject(status.resources) && {
      resources: {
        ...(actual.requests && { requests: actual.requests }),
        ...(actual.limits && { limits: actual.limits }),
      },
    }),
  };
}

function amounts(given: unknown): Record<string, string> | undefined {
  const entries = Object.entries(fieldsOf(given))
    .slice(0, 32)
    .filter((entry): entry is [string, string] => {
      const [name, amount] = entry;
      return (
        name.length <= 253 &&
        /^[a-z0-9][-a-z0-9./]*$/i.test(name) &&
        typeof amount === "string" &&
        quantity.test(amount)
      );
    });
  return entries.length === 0 ? undefined : Object.fromEntries(entries);
}

function isObject(value: unknown): value is Fields {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
