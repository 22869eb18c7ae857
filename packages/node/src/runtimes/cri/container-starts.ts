import { type Clock, type Logger, onAbort, sleep } from "@fjord/base";
import { CriClient } from "./cri-client.ts";
import { CriCallFailed } from "./errors.ts";
import { grpcStatus } from "./grpc/grpc-status.ts";
import { OpenStarts } from "./open-starts.ts";
import { outlive } from "./outlive.ts";
import { ContainerState, RuntimeService } from "./proto/messages.ts";

export interface ContainerStartsOptions {
  readonly socket: string;
  /** Where starts that are under way are noted for the process after this one. */
  readonly directory?: string;
  readonly clock: Clock;
  readonly log: Logger;
}

/** How long a start may go on that nobody wants any more. */
const FINISH_TIME = 10_000;
/** How long the runtime may go on with starts after this process was killed, in seconds: as long as any call may take. */
const AFTERLIFE = 120;
/** How long the start of an earlier process is waited for, which may have been killed before the runtime heard of it. */
const EARLIER_PATIENCE = 20_000;
const LOOK_INTERVAL = 50;

/**
 * Starts containers. A runtime gives a start up whose client goes away: it kills what has begun, and drops what that has
 * written. So starts have a connection of their own that outlives this process, and the next one waits for their ends.
 */
export class ContainerStarts {
  readonly #client: CriClient;
  readonly #clock: Clock;
  readonly #log: Logger;
  readonly #open: OpenStarts | undefined;
  /** Asked for by an earlier process. */
  #earlier: readonly string[];

  constructor({ socket, directory, clock, log }: ContainerStartsOptions) {
    this.#client = new CriClient({ socket, clock, onConnect: (connection) => outlive(connection, AFTERLIFE) });
    this.#clock = clock;
    this.#log = log;
    this.#open = directory === undefined ? undefined : new OpenStarts(directory, socket);
    this.#earlier = this.#open?.takeOver() ?? [];
  }

  async start(id: string, signal?: AbortSignal): Promise<void> {
    // Given up half-way, the runtime kills what has begun: a stop of the node must not end a container, nor a pod's end
    // come without its grace.
    const late = new AbortController();
    let cancel = () => {};
    const release =
      signal && onAbort(signal, () => (cancel = this.#clock.after(FINISH_TIME, () => late.abort(signal.reason))));
    this.#open?.open(id);
    try {
      const options = { action: `start the container ${id}`, signal: late.signal };
      await this.#client.call(RuntimeService.startContainer, { containerId: id }, options);
    } finally {
      this.#open?.close(id);
      release?.();
      cancel();
    }
  }

  /** Resolves when no start of an earlier process is under way: until then what begins looks as if it never had. */
  async settled(signal?: AbortSignal): Promise<void> {
    if (this.#earlier.length === 0) return;
    const end = this.#clock.now() + EARLIER_PATIENCE;
    await Promise.all(this.#earlier.map((id) => this.#settle(id, end, signal)));
    this.#earlier = [];
  }

  async #settle(id: string, end: number, signal?: AbortSignal): Promise<void> {
    while (!(await this.#isSettled(id, signal))) {
      if (this.#clock.now() >= end) {
        this.#log.warn("a container that an earlier process was about to start does not begin", { container: id });
        break;
      }
      await sleep(this.#clock, LOOK_INTERVAL, signal);
      signal?.throwIfAborted();
    }
    this.#open?.close(id);
  }

  async #isSettled(containerId: string, signal?: AbortSignal): Promise<boolean> {
    const options = { action: `read the status of container ${containerId}`, ...(signal && { signal }) };
    try {
      const { status } = await this.#client.call(RuntimeService.containerStatus, { containerId }, options);
      return status?.state !== ContainerState.CONTAINER_CREATED;
    } catch (error) {
      if (error instanceof CriCallFailed && error.status === grpcStatus.notFound) return true;
      throw error;
    }
  }

  close(): void {
    this.#client.close();
  }
}
