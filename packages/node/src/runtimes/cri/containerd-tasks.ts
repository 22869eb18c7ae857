import type { CriClient } from "./cri-client.ts";
import { CriCallFailed, CriNotSupported } from "./errors.ts";
import { grpcStatus } from "./grpc/grpc-status.ts";
import { type Init, type Method, type Schema, schema } from "./proto/message.ts";

/** Where containerd keeps what its CRI has. */
const NAMESPACE = { "containerd-namespace": "k8s.io" };
const SIGKILL = 9;
/** What is killed goes at once, unless it waits for a disk. */
const WAIT_TIMEOUT = 10_000;

/**
 * The processes of containers as containerd itself sees them. Where a start is given up at a bad moment, its CRI says
 * that the container has ended while the container's first process waits to be begun, and refuses to remove it.
 */
export class ContainerdTasks {
  readonly #client: CriClient;

  constructor(client: CriClient) {
    this.#client = client;
  }

  /** Ends whatever is left of a container that CRI says has ended; other runtimes than containerd leave nothing. */
  async end(id: string): Promise<void> {
    try {
      await this.#call(Tasks.kill, { containerId: id, signal: SIGKILL, all: true });
      await this.#call(Tasks.wait, { containerId: id });
      await this.#call(Tasks.delete, { containerId: id });
    } catch (error) {
      if (error instanceof CriNotSupported) return;
      if (error instanceof CriCallFailed && harmless.has(error.status)) return;
      throw error;
    }
  }

  #call<T>(method: Method<T, unknown>, request: Init<T>): Promise<unknown> {
    const options = { action: "end what a failed start has left", timeout: WAIT_TIMEOUT, headers: NAMESPACE };
    return this.#client.call(method, request, options);
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

/** Of containerd's own API, as much as is needed. */
const TaskRequest = schema<TaskRequest>(() => [["containerId", 1, "string"]]);
const KillRequest = schema<KillRequest>(() => [
  ["containerId", 1, "string"],
  ["signal", 3, "uint32"],
  ["all", 4, "bool"],
]);
const Nothing = schema<Record<string, never>>(() => []);

function method<T>(name: string, input: Schema<T>): Method<T, unknown> {
  return { path: `/containerd.services.tasks.v1.Tasks/${name}`, input, output: Nothing };
}

const Tasks = {
  kill: method("Kill", KillRequest),
  wait: method("Wait", TaskRequest),
  delete: method("Delete", TaskRequest),
};
