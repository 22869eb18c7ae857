import { type Backoff, type Clock, describeError, type Logger, sleep } from "@fjord/base";
import type { CriClient } from "./cri-client.ts";
import { CriCallFailed, CriNotSupported } from "./errors.ts";
import { grpcStatus } from "./grpc/grpc-status.ts";
import { decode } from "./proto/decode.ts";
import { encode } from "./proto/encode.ts";
import { schema } from "./proto/message.ts";
import { RuntimeService } from "./proto/messages.ts";

export interface RuntimeEventsOptions {
  readonly client: CriClient;
  readonly clock: Clock;
  readonly log: Logger;
  readonly backoff: Backoff;
}

/** Called with the id of a container or sandbox of which something has happened. */
export type OnEvent = (id: string) => void;

/**
 * Tells that something has happened in a runtime, by whichever stream it has: CRI's own, or containerd's, which even
 * those versions have whose CRI has none. With neither it tells nothing.
 */
export class RuntimeEvents {
  readonly #options: RuntimeEventsOptions;
  #listening = false;

  constructor(options: RuntimeEventsOptions) {
    this.#options = options;
  }

  /** Whether events can be relied on at this moment. */
  get listening(): boolean {
    return this.#listening;
  }

  /** Ends when the signal aborts, or soon where the runtime has no events. `onCut`: some may have been missed. */
  async run(onEvent: OnEvent, onCut: () => void, signal: AbortSignal): Promise<void> {
    const { clock, log, backoff } = this.#options;
    const heard: OnEvent = (id) => {
      backoff.reset();
      onEvent(id);
    };
    let source = this.#ofCri;
    while (!signal.aborted) {
      try {
        this.#listening = true;
        await source(heard, signal);
      } catch (error) {
        if (signal.aborted) return;
        if (isUnknown(error)) {
          if (source === this.#ofContainerd) {
            this.#listening = false;
            return onCut();
          }
          source = this.#ofContainerd;
          continue;
        }
        this.#listening = false;
        log.debug("the runtime's events were cut off", { error: describeError(error) });
        onCut();
      } finally {
        this.#listening = false;
      }
      await sleep(clock, backoff.next(), signal);
    }
  }

  readonly #ofCri = (onEvent: OnEvent, signal: AbortSignal): Promise<void> =>
    this.#options.client.stream(RuntimeService.getContainerEvents, {}, ({ containerId }) => onEvent(containerId), {
      action: "follow the runtime's events",
      signal,
    });

  readonly #ofContainerd = (onEvent: OnEvent, signal: AbortSignal): Promise<void> =>
    this.#options.client.streamRaw(
      "/containerd.services.events.v1.Events/Subscribe",
      encode(SubscribeRequest, { filters: ['topic=="/tasks/exit"', 'topic=="/tasks/delete"'] }),
      (message) => {
        const id = endedTask(message);
        if (id !== undefined) onEvent(id);
      },
      { action: "follow containerd's events", signal },
    );
}

function isUnknown(error: unknown): boolean {
  if (error instanceof CriNotSupported) return true;
  return error instanceof CriCallFailed && error.status === grpcStatus.unimplemented;
}

/** Of containerd's own API, as much as is needed. */
const SubscribeRequest = schema<{ filters: string[] }>(() => [["filters", 1, ["string"]]]);
const Envelope = schema<{ topic: string; event?: { value: Uint8Array } }>(() => [
  ["topic", 3, "string"],
  ["event", 4, Any],
]);
const Any = schema<{ value: Uint8Array }>(() => [["value", 2, "bytes"]]);
/** A process that has ended or was cleaned up after: in the second event the first process has no name. */
const TaskExit = schema<EndedProcess>(() => [
  ["containerId", 1, "string"],
  ["id", 2, "string"],
]);
const TaskDelete = schema<EndedProcess>(() => [
  ["containerId", 1, "string"],
  ["id", 5, "string"],
]);

interface EndedProcess {
  containerId: string;
  id: string;
}

/** The container whose first process has ended; undefined where another process of it has. */
export function endedTask(message: Uint8Array): string | undefined {
  const { topic, event } = decode(Envelope, message);
  if (event === undefined) return undefined;
  const { containerId, id } = decode(topic === "/tasks/delete" ? TaskDelete : TaskExit, event.value);
  return id === "" || id === containerId ? containerId : undefined;
}
