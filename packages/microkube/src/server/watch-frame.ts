import type { StoredObject, StoreEvent } from "../store/store.ts";

/** A line of a watch, as one chunk of HTTP/1.1: made once, and sent to all that watch. */
export function frame(type: string, objectText: string): Buffer {
  const body = Buffer.from(`{"type":"${type}","object":${objectText}}\n`);
  return Buffer.concat([Buffer.from(`${body.length.toString(16)}\r\n`), body, chunkEnd]);
}

const chunkEnd = Buffer.from("\r\n");

/** The bytes within a frame, for where chunks are not made by us. */
export function unframed(bytes: Buffer): Buffer {
  const start = bytes.indexOf("\n") + 1;
  return bytes.subarray(start, bytes.length - 2);
}

/** What an event is to a watcher with selectors: objects come into its sight and leave it. */
export function seenAs(
  event: StoreEvent,
  matches: (object: StoredObject) => boolean,
): { type: StoreEvent["type"]; object: StoredObject; isMade?: boolean } | undefined {
  const { type, object, previous } = event;
  if (type === "ADDED") return matches(object) ? { type, object } : undefined;
  const before = previous !== undefined && matches(previous);
  if (type === "DELETED") return before ? { type, object } : undefined;
  const now = matches(object);
  if (now) return { type: before ? "MODIFIED" : "ADDED", object };
  if (!before || previous === undefined) return undefined;
  const { revision } = event;
  const json = previous.json.replace(`"resourceVersion":"${previous.revision}"`, `"resourceVersion":"${revision}"`);
  return { type: "DELETED", object: { ...previous, revision, json }, isMade: true };
}

/** Frames of recent events, by event and type: they go when the store forgets the event. */
export class FrameCache {
  readonly #frames = new WeakMap<StoreEvent, Map<string, Buffer>>();

  get(event: StoreEvent, type: string, make: () => Buffer): Buffer {
    let byType = this.#frames.get(event);
    if (byType === undefined) {
      byType = new Map();
      this.#frames.set(event, byType);
    }
    let bytes = byType.get(type);
    if (bytes === undefined) {
      bytes = make();
      byType.set(type, bytes);
    }
    return bytes;
  }
}
