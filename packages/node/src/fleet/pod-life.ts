import type { Pod } from "@fjord/kube";
import { reportedStatus } from "../pod/plan/last-end.ts";
import type { PodEnd } from "../pod/plan/plan-input.ts";
import type { Waiting } from "../pod/plan/pod-plan.ts";
import { type ContainerStatus, containersOf } from "../pod/pod-containers.ts";

/** A container that was started, as little of it as the rest can be told from. */
export interface LivedContainer {
  readonly name: string;
  readonly attempt: number;
  readonly startedAt: number;
  /** Milliseconds to wait after its end; absent: what the attempt makes of it. */
  readonly restartDelay?: number;
  finishedAt?: number;
  exitCode?: number;
  reason?: string;
  message?: string;
}

/** A container on its way. */
export interface Start {
  readonly name: string;
  readonly attempt: number;
  readonly restartDelay: number;
  /** When the way ends, and in what. */
  readonly at: number;
  readonly problem?: StartProblem;
}

export interface StartProblem extends Waiting {
  /** What the status says from the next look on. */
  readonly later?: Waiting;
}

export interface Failure {
  readonly problem: StartProblem;
  readonly count: number;
  readonly at: number;
  readonly retryAt: number;
}

/** A container that was asked to end. */
export interface Stop {
  readonly container: LivedContainer;
  /** When it ends, and at the latest would. */
  readonly at: number;
  readonly killAt: number;
  readonly exitCode: number;
}

/**
 * All that is simulated of one pod. It can be told again from the pod's status, but for what is under way. Fields become
 * undefined and are never deleted: an object that loses fields takes V8 five times the memory, and there are tens of
 * thousands.
 */
export interface PodLife {
  readonly uid: string;
  sandbox: { readonly createdAt: number; readonly address: string; isStopped: boolean } | undefined;
  /** When the sandbox is there. */
  sandboxAt: number | undefined;
  /** Newest first; at most two of a name. */
  containers: LivedContainer[];
  starts: Start[] | undefined;
  stops: Stop[] | undefined;
  failures: Map<string, Failure> | undefined;
  end: PodEnd | undefined;
}

/** What a pod's status tells of its life so far. */
export function restoreLife(pod: Pod): PodLife {
  const { uid = "" } = pod.metadata;
  const { podIP, hostIP, startTime, conditions = [] } = pod.status ?? {};
  const createdAt = timeOf(startTime) ?? 0;
  const isReady = conditions.some(({ type, status }) => type === "PodReadyToStartContainers" && status === "True");
  const containers = containersOf(pod).flatMap(({ name }) => restoreContainer(reportedStatus(pod, name)));
  const wasThere = podIP !== undefined || isReady || containers.length > 0;
  const address = podIP !== undefined && podIP !== hostIP ? podIP : "";
  return {
    uid,
    sandbox: wasThere ? { createdAt, address, isStopped: !isReady } : undefined,
    sandboxAt: undefined,
    containers,
    starts: undefined,
    stops: undefined,
    failures: undefined,
    end: undefined,
  };
}

function restoreContainer(status: ContainerStatus | undefined): LivedContainer[] {
  if (status?.containerID === undefined || status.containerID === "") return [];
  const { name, restartCount, state, lastState } = status;
  const before = lived(name, restartCount - 1, lastState?.terminated);
  if (state?.running !== undefined) {
    return [{ name, attempt: restartCount, startedAt: timeOf(state.running.startedAt) ?? 0 }, ...before];
  }
  // One that waits for its next start is told of by how it ended last.
  if (state?.terminated === undefined) return lived(name, restartCount, lastState?.terminated);
  return [...lived(name, restartCount, state.terminated), ...before];
}

type Terminated = NonNullable<NonNullable<ContainerStatus["state"]>["terminated"]>;

function lived(name: string, attempt: number, end: Terminated | undefined): LivedContainer[] {
  if (end === undefined || attempt < 0) return [];
  const { exitCode, reason, message } = end;
  const finishedAt = timeOf(end.finishedAt) ?? 0;
  const startedAt = timeOf(end.startedAt) ?? finishedAt;
  return [{ name, attempt, startedAt, finishedAt, exitCode, ...(reason && { reason }), ...(message && { message }) }];
}

function timeOf(text: string | undefined): number | undefined {
  const time = Date.parse(text ?? "");
  return Number.isNaN(time) ? undefined : time;
}
