import type { CriClient } from "./cri-client.ts";
import { CriCallFailed, CriNotSupported } from "./errors.ts";
import { grpcStatus } from "./grpc/grpc-status.ts";
import { type Init, type Method, type Schema, schema } from "./proto/message.ts";

/** Where containerd keeps what its CRI has. */
const NAMESPACE = { "containerd-namespace": "k8s.io" };
const SIGKILL = 9;
export const TASK_CREATED = 1;
export const TASK_STOPPED = 3;
/** What is killed goes at once, unless it waits for a disk. */
const WAIT_TIMEOUT = 10_000;

/** "waiting": everything is there but its program. */
export type TaskStage = "none" | "waiting" | "begun";

/** How the first process of a container ended. */
export interface TaskEnd {
  readonly exitCode: number;
  /** In nanoseconds, as CRI counts. */
  readonly finishedAt: bigint;
  /** Where there is nothing left that could tell. */
  readonly isUnknown?: boolean;
}

/**
 * The processes of containers as containerd itself sees them. Where a start is given up at a bad moment, its CRI says
 * that the container has ended while the container's first process waits to be begun, and refuses to remove it.
 */
export class ContainerdTasks {
  readonly #client: CriClient;

  constructor(client: CriClient) {
    this.#client = client;
  }

  /** How far the first process of a container has come; where nobody can tell, it may have begun its program. */
  async stageOf(id: string): Promise<TaskStage> {
    try {
      const { process } = await this.#call(Tasks.get, { containerId: id }, `look for the process of container ${id}`);
      return process?.status === TASK_CREATED ? "waiting" : "begun";
    } catch (error) {
      if (error instanceof CriNotSupported) return "begun";
      if (error instanceof CriCallFailed && harmless.has(error.status)) {
        return error.status === grpcStatus.notFound ? "none" : "begun";
      }
      throw error;
    }
  }

  /** How a container ended that CRI says runs; undefined where it does, or may, run. */
  async endOf(id: string): Promise<TaskEnd | undefined> {
    try {
      const { process } = await this.#call(Tasks.get, { containerId: id }, `look for the process of container ${id}`);
      if (process?.status !== TASK_STOPPED) return undefined;
      const { seconds = 0n, nanos = 0 } = process.exitedAt ?? {};
      return { exitCode: process.exitStatus, finishedAt: seconds * 1_000_000_000n + BigInt(nanos) };
    } catch (error) {
      if (error instanceof CriNotSupported) return undefined;
      if (!(error instanceof CriCallFailed) || !harmless.has(error.status)) throw error;
      return error.status === grpcStatus.notFound ? { exitCode: 255, finishedAt: 0n, isUnknown: true } : undefined;
    }
  }

  /** Forgets a process that has ended. */
  async forget(id: string): Promise<void> {
    try {
      await this.#call(Tasks.delete, { containerId: id }, "forget a process that has ended");
    } catch (error) {
      if (!(error instanceof CriCallFailed) || !harmless.has(error.status)) throw error;
    }
  }

  /** Ends whatever is left of a container that CRI says has ended; other runtimes than containerd leave nothing. */
  async end(id: string): Promise<void> {
    try {
      const action = "end what a failed start has left";
      await this.#call(Tasks.kill, { containerId: id, signal: SIGKILL, all: true }, action);
      await this.#call(Tasks.wait, { containerId: id }, action);
      await this.#call(Tasks.delete, { containerId: id }, action);
    } catch (error) {
      if (error instanceof CriNotSupported) return;
      if (error instanceof CriCallFailed && harmless.has(error.status)) return;
      throw error;
    }
  }

  #call<I, O>(method: Method<I, O>, request: Init<I>, action: string): Promise<O> {
    return this.#client.call(method, request, { action, timeout: WAIT_TIMEOUT, headers: NAMESPACE });
  }
}

const harmless: ReadonlySet<number> = new Set([grpcStatus.notFound, grpcStatus.unimplemented]);

interface TaskRequest {
  containerId: string;
}

interface KillRequest extends TaskRequest {
  signal: number;
  all: boolean;
}

interface TaskProcess {
  status: number;
  exitStatus: number;
  exitedAt?: Timestamp;
}

interface Timestamp {
  seconds: bigint;
  nanos: number;
}

interface GetResponse {
  process?: TaskProcess;
}

/** Of containerd's own API, as much as is needed. */
const TaskRequest = schema<TaskRequest>(() => [["containerId", 1, "string"]]);
const KillRequest = schema<KillRequest>(() => [
  ["containerId", 1, "string"],
  ["signal", 3, "uint32"],
  ["all", 4, "bool"],
]);
const Nothing = schema<Record<string, never>>(() => []);
const Timestamp = schema<Timestamp>(() => [
  ["seconds", 1, "int64"],
  ["nanos", 2, "int32"],
]);
const TaskProcess = schema<TaskProcess>(() => [
  ["status", 4, "enum"],
  ["exitStatus", 9, "uint32"],
  ["exitedAt", 10, Timestamp],
]);
const GetResponse = schema<GetResponse>(() => [["process", 1, TaskProcess]]);

function method<I, O>(name: string, input: Schema<I>, output: Schema<O>): Method<I, O> {
  return { path: `/containerd.services.tasks.v1.Tasks/${name}`, input, output };
}

export const Tasks = {
  get: method("Get", TaskRequest, GetResponse),
  kill: method("Kill", KillRequest, Nothing),
  wait: method("Wait", TaskRequest, Nothing),
  delete: method("Delete", TaskRequest, Nothing),
};
