import { ConnectionError } from "../transport/errors.ts";
import { ApiError } from "./api-error.ts";
import { LineSplitter } from "./line-splitter.ts";
import { watchQuery } from "./request-options.ts";
import { collectionPath, describeTarget, queryString } from "./resource-path.ts";
/** Opens a watch and decodes its events; see `ListWatcher.watch` for how it ends. */
export async function* watchEvents(requester, kind, options) {
    const action = `watch ${describeTarget(kind, options)}`;
    const broken = (reason, cause) => new ConnectionError({ action, server: requester.transport.server, reason, cause, sent: true });
    const stream = await requester.stream({
        method: "GET",
        path: collectionPath(kind, options.namespace) + queryString(watchQuery(options)),
        action,
        signal: options.signal,
        // A server answers a watch at once, so a peer that is silent here is no better than one that is silent later.
        headersTimeoutMs: options.idleTimeoutMs,
        idleTimeoutMs: options.idleTimeoutMs,
    });
    const lines = new LineSplitter();
    for await (const chunk of stream) {
        for (const line of lines.push(chunk)) {
            const event = parseEvent(line, broken);
            if (event.type === "ERROR")
                throw watchError(action, event.object);
            yield event;
        }
    }
    // Only a connection that broke unnoticed ends in the middle of an event.
    if (lines.pending > 0)
        throw broken("the last event is cut short");
}
function parseEvent(line, broken) {
    try {
        return JSON.parse(line);
    }
    catch (cause) {
        throw broken("an event is not JSON", cause);
    }
}
function watchError(action, status) {
    return new ApiError({ action, statusCode: status.code ?? 500, status });
}
