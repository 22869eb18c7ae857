import type { RuntimeContainer } from "../../runtime/index.ts";
import { newest } from "../observed-pod.ts";
import { reportedStatus } from "../plan/last-end.ts";
import { type ContainerStatus, containersOf, type PodContainer } from "../pod-containers.ts";
import { type ContainerState, containerIdText, lostState, terminatedState, timeText } from "./container-state.ts";
import type { StatusInput } from "./status-input.ts";

/** The status of one container, from what the runtime has of it and what was reported before. */
export function containerStatus(container: PodContainer, input: StatusInput): ContainerStatus {
  const [last, previous] = input.observed.containers.get(container.name) ?? [];
  if (last === undefined) return statusWithoutContainer(container, input);
  const { state, lastState } = statesOf(container, last, previous, input);
  const isRunning = state.running !== undefined;
  const started = isRunning && input.started.has(last.id);
  return {
    name: container.name,
    state,
    lastState,
    ready:
      container.role === "init" ? last.state === "exited" && last.exitCode === 0 : started && input.ready.has(last.id),
    restartCount: last.attempt,
    image: last.image,
    imageID: last.imageId,
    containerID: containerIdText(input.runtimeName, last.id),
    started,
    ...resourcesOf(container, input),
    ...stopSignalOf(container),
    ...userOf(last),
    ...volumeMountsOf(container),
  };
}

function statesOf(
  container: PodContainer,
  last: RuntimeContainer,
  previous: RuntimeContainer | undefined,
  input: StatusInput,
): { state: ContainerState; lastState: ContainerState } {
  const before = previous?.state === "exited" ? terminatedState(previous, input) : earlierEnd(container, last, input);
  if (input.running.has(last.id)) {
    return { state: { running: { startedAt: timeText(last.startedAt ?? last.createdAt) } }, lastState: before };
  }
  if (last.state !== "exited") return { state: { waiting: waitingState(container, input) }, lastState: before };
  const ended = terminatedState(last, input);
  const waiting = input.ended ? undefined : input.waiting.get(container.name);
  return waiting === undefined ? { state: ended, lastState: before } : { state: { waiting }, lastState: ended };
}

/** What was reported of the container before this one, where the runtime no longer has it. */
function earlierEnd(container: PodContainer, last: RuntimeContainer, input: StatusInput): ContainerState {
  if (last.attempt === 0) return {};
  const status = reportedStatus(input.pod, container.name);
  if (status === undefined) return {};
  if (status.restartCount === last.attempt) return status.lastState ?? {};
  return status.state?.terminated === undefined ? (status.lastState ?? {}) : { terminated: status.state.terminated };
}

function statusWithoutContainer(container: PodContainer, input: StatusInput): ContainerStatus {
  const reported = reportedStatus(input.pod, container.name);
  const waiting = waitingState(container, input);
  if (reported?.containerID === undefined || reported.containerID === "") {
    return {
      name: container.name,
      state: input.ended ? endWithoutContainer(container, reported, input) : { waiting },
      lastState: {},
      ready: false,
      restartCount: reported?.restartCount ?? 0,
      image: container.spec.image ?? "",
      imageID: "",
      started: false,
      ...volumeMountsOf(container),
    };
  }
  const ended = reported.state?.terminated === undefined ? lostState(LOST) : { terminated: reported.state.terminated };
  const wasWaiting = reported.state?.waiting !== undefined;
  const lastState = wasWaiting ? (reported.lastState ?? {}) : ended;
  const staysEnded = input.ended || (ended.terminated?.exitCode === 0 && container.role === "init");
  const ready = container.role === "init" && reported.ready;
  if (staysEnded) return { ...reported, state: wasWaiting ? lastState : ended, ready, started: false };
  return { ...reported, state: { waiting }, lastState, ready: false, started: false };
}

/** Once said to have ended it stays so: its sandbox, by which that was known, may be removed by now. */
function endWithoutContainer(
  container: PodContainer,
  reported: ContainerStatus | undefined,
  input: StatusInput,
): ContainerState {
  const terminated = reported?.state?.terminated;
  if (terminated !== undefined) return { terminated };
  return mayHaveRun(container, input) ? lostState(LOST_AT_END) : { waiting: waitingState(container, input) };
}

const LOST = "The container could not be located when the pod was deleted.  The container used to be Running";
const LOST_AT_END = "The container could not be located when the pod was terminated";

/** Whether the pod came so far that the container could have been started. */
function mayHaveRun(container: PodContainer, input: StatusInput): boolean {
  if (container.role === "ephemeral" || input.end?.cause === "refused") return false;
  return input.observed.sandbox !== undefined && isInitializedBefore(container, input);
}

/** Whether all init containers before this one have done their work. */
function isInitializedBefore(container: PodContainer, input: StatusInput): boolean {
  for (const { name, role } of containersOf(input.pod)) {
    if (name === container.name || role === "main") return true;
    const last = newest(input.observed, name);
    if (role === "init" && !(last?.state === "exited" && last.exitCode === 0)) return false;
  }
  return true;
}

function waitingState(container: PodContainer, input: StatusInput): { reason: string; message?: string } {
  const known = input.waiting.get(container.name);
  if (known !== undefined) return { reason: known.reason, ...(known.message && { message: known.message }) };
  const waitsForInit = container.role !== "ephemeral" && (input.pod.spec?.initContainers?.length ?? 0) > 0;
  return { reason: waitsForInit ? "PodInitializing" : "ContainerCreating" };
}

/** The API refuses an empty list of what was granted; what a container has is always told. */
function resourcesOf(
  { name }: PodContainer,
  input: StatusInput,
): Pick<ContainerStatus, "allocatedResources" | "resources"> {
  const { granted, given } = input.resources(name);
  const { requests, limits } = given;
  const hasRequests = Object.keys(granted.requests ?? {}).length > 0;
  return {
    ...(hasRequests && { allocatedResources: granted.requests }),
    resources: { ...(requests && { requests }), ...(limits && { limits }) },
  };
}

function stopSignalOf({ spec }: PodContainer): Pick<ContainerStatus, "stopSignal"> {
  const stopSignal = spec.lifecycle?.stopSignal;
  return stopSignal === undefined ? {} : { stopSignal };
}

function userOf({ user }: RuntimeContainer): Pick<ContainerStatus, "user"> {
  if (user === undefined) return {};
  return { user: { linux: { uid: user.uid, gid: user.gid, supplementalGroups: [...user.supplementalGroups] } } };
}

function volumeMountsOf({ spec }: PodContainer): Pick<ContainerStatus, "volumeMounts"> {
  const mounts = spec.volumeMounts ?? [];
  if (mounts.length === 0) return {};
  return {
    volumeMounts: mounts.map(({ name, mountPath, readOnly, recursiveReadOnly }) => ({
      name,
      mountPath,
      ...(readOnly && { readOnly, recursiveReadOnly: recursiveReadOnly === "Enabled" ? "Enabled" : "Disabled" }),
    })),
  };
}
