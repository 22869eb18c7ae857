import { defineError, describeError } from "@fjord/base";
const Connection = defineError("KUBE_CONNECTION", "cannot {action} at {server}: {reason}", "No usable answer came: check that the address is right and reachable, that the server runs, and that the certificate authority in the configuration is the server's.");
/** There was no answer, or none that could be read to its end. The outcome of a write that was `sent` is unknown. */
export class ConnectionError extends Connection {
    sent;
    constructor(init) {
        const reason = init.reason ?? describeError(init.cause);
        super({ action: init.action, server: init.server, reason }, { cause: init.cause });
        this.name = "ConnectionError";
        this.sent = init.sent;
    }
}
/** Thrown for requests after `close()`, and by streams that it cut. */
export const TransportClosed = defineError("KUBE_TRANSPORT_CLOSED", "cannot {action} at {server}: the client was closed", "Something used a client after its owner had closed it: stop the user before closing the client.");
export const InvalidServerUrl = defineError("KUBE_INVALID_SERVER_URL", "cannot connect to {server}: {reason}", "Give the server as a URL such as https://example.com:6443 or https://example.com/path.");
