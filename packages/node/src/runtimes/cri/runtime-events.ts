import { BinaryReader, BinaryWriter, WireType } from "@bufbuild/protobuf/wire";
import { type Backoff, type Clock, describeError, type Logger, sleep } from "@fjord/base";
import type { CriClient } from "./cri-client.ts";
import { CriCallFailed, CriNotSupported } from "./errors.ts";
import { grpcStatus } from "./grpc/grpc-status.ts";
import { RuntimeService } from "./proto/cri_pb.ts";

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
    this.#options.client.stream(
      RuntimeService.method.getContainerEvents,
      {},
      ({ containerId }) => onEvent(containerId),
      { action: "follow the runtime's events", signal },
    );

  readonly #ofContainerd = (onEvent: OnEvent, signal: AbortSignal): Promise<void> =>
    this.#options.client.streamRaw(
      "/containerd.services.events.v1.Events/Subscribe",
      subscription(['topic=="/tasks/exit"', 'topic=="/tasks/delete"']),
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

/** SubscribeRequest: the filters, any of which may match. */
function subscription(filters: readonly string[]): Uint8Array {
  const writer = new BinaryWriter();
  for (const filter of filters) writer.tag(1, WireType.LengthDelimited).string(filter);
  return writer.finish();
}

/** The container whose first process has ended, from an Envelope; undefined where another process of it has. */
export function endedTask(envelope: Uint8Array): string | undefined {
  const any = fieldsOf(envelope).get(4);
  const event = any && fieldsOf(any).get(2);
  if (event === undefined) return undefined;
  const fields = fieldsOf(event);
  const container = text(fields.get(1));
  // Of an exit, field 2 is the process; of a deletion it is a number, and field 5 the process, which may be left out.
  const process = text(fields.get(2)) || text(fields.get(5));
  return container === "" || (process !== "" && process !== container) ? undefined : container;
}

/** The fields of a message that have bytes for a value, by number. */
function fieldsOf(message: Uint8Array): Map<number, Uint8Array> {
  const reader = new BinaryReader(message);
  const fields = new Map<number, Uint8Array>();
  while (reader.pos < reader.len) {
    const [number, type] = reader.tag();
    if (type === WireType.LengthDelimited) fields.set(number, reader.bytes());
    else reader.skip(type, number);
  }
  return fields;
}

function text(bytes: Uint8Array | undefined): string {
  return bytes === undefined ? "" : Buffer.from(bytes).toString("utf8");
}
