import type { Kind, KubeObject } from "@fjord/base";
import { ConnectionError } from "../transport/errors.ts";
import { ApiError } from "./api-error.ts";
import type { WatchEvent, WatchOptions } from "./interfaces.ts";
import { LineSplitter } from "./line-splitter.ts";
import type { ParseItems } from "./list-decoder.ts";
import { parseWithoutManagedFields } from "./managed-fields-filter.ts";
import { watchQuery } from "./request-options.ts";
import { isObject, type Requester } from "./requester.ts";
import { collectionPath, describeTarget, queryString } from "./resource-path.ts";
import type { SharedFieldSets } from "./shared-field-sets.ts";
import { normalStatus } from "./status.ts";

/** No object that a Kubernetes store takes comes near this; what does is a peer that means harm or has lost its mind. */
const LARGEST_EVENT = 64 * 1024 * 1024;

/** Opens a watch and decodes its events; see `ListWatcher.watch` for how it ends. */
export async function* watchEvents<T extends KubeObject>(
  requester: Requester,
  kind: Kind<T>,
  options: WatchOptions,
  fieldSets: SharedFieldSets,
): AsyncGenerator<WatchEvent<T>, void, void> {
  const action = `watch ${describeTarget(kind, options)}`;
  const broken = (reason: string, cause?: unknown) =>
    new ConnectionError({ action, server: requester.transport.server, reason, cause, sent: true });
  const stream = await requester.stream({
    method: "GET",
    path: collectionPath(kind, options.namespace) + queryString(watchQuery(options)),
    action,
    signal: options.signal,
    // A server answers a watch at once, so a peer that is silent here is no better than one that is silent later.
    headersTimeoutMs: options.idleTimeoutMs,
    idleTimeoutMs: options.idleTimeoutMs,
  });
  const parse: ParseItems = options.omitManagedFields
    ? parseWithoutManagedFields
    : (before, text, itemsOf) => fieldSets.parse(before, text, itemsOf);
  const lines = new LineSplitter();
  const { room } = requester.transport;
  let held = 0;
  const hold = (bytes: number) => {
    room.take(bytes - held);
    held = bytes;
  };
  try {
    for await (const chunk of stream) {
      for (const line of lines.push(chunk)) {
        const event = parseEvent<T>(line, parse, broken);
        if (event?.type === "ERROR") throw watchError(action, event.object);
        if (!isEvent(event)) throw requester.strange(action);
        yield event;
        options.signal?.throwIfAborted();
      }
      if (lines.pending > LARGEST_EVENT) throw broken(`an event is larger than ${LARGEST_EVENT} bytes`);
      try {
        hold(lines.pending);
      } catch (cause) {
        throw broken("there is no room for its next event", cause);
      }
    }
  } finally {
    hold(0);
  }
  // Only a connection that broke unnoticed ends in the middle of an event.
  if (lines.pending > 0) throw broken("the last event is cut short");
}

type AnyEvent<T> = WatchEvent<T> | { type: "ERROR"; object: unknown };

function isEvent(value: unknown): boolean {
  if (!isObject(value) || !isObject(value.object) || !isObject(value.object.metadata)) return false;
  return eventTypes.has(value.type);
}

const eventTypes = new Set<unknown>(["ADDED", "MODIFIED", "DELETED", "BOOKMARK"]);

function parseEvent<T>(
  line: Buffer,
  parse: ParseItems,
  broken: (reason: string, cause: unknown) => Error,
): AnyEvent<T> {
  try {
    return parse<AnyEvent<T>>("", line, (event) => [event?.object]);
  } catch (cause) {
    throw broken("an event is not JSON", cause);
  }
}

function watchError(action: string, object: unknown): ApiError {
  const status = normalStatus(object);
  return new ApiError({ action, statusCode: status.code ?? 500, status });
}
