import { defineError, describeError } from "@fjord/base";

const Connection = defineError(
  "KUBE_CONNECTION",
  "cannot {action} at {server}: {reason}",
  "No usable answer came: check that the address is right and reachable, that the server runs, and that the certificate authority in the configuration is the server's.",
);

export interface ConnectionErrorInit {
  /** What was attempted, such as `list Pods`. */
  action: string;
  server: string;
  reason?: string;
  cause?: unknown;
  /** False when the request cannot have reached the server, so that even a write may be repeated. */
  sent: boolean;
}

/** There was no answer, or none that could be read to its end. The outcome of a write that was `sent` is unknown. */
export class ConnectionError extends Connection {
  readonly sent: boolean;

  constructor(init: ConnectionErrorInit) {
    const reason = init.reason ?? describeError(init.cause);
    super({ action: init.action, server: init.server, reason }, { cause: init.cause });
    this.name = "ConnectionError";
    this.sent = init.sent;
  }
}

/** Thrown for requests after `close()`, and by streams that it cut. */
export const TransportClosed = defineError(
  "KUBE_TRANSPORT_CLOSED",
  "cannot {action} at {server}: the client was closed",
  "Something used a client after its owner had closed it: stop the user before closing the client.",
);

export const InvalidServerUrl = defineError(
  "KUBE_INVALID_SERVER_URL",
  "cannot connect to {server}: {reason}",
  "Give the server as a URL such as https://example.com:6443 or https://example.com/path.",
);

export const UnusableCertificate = defineError(
  "KUBE_UNUSABLE_CERTIFICATE",
  "cannot connect to {server}: its certificate authority, or the client's certificate or key, cannot be used: {reason}",
  "All three are PEM texts, and the key must be the one that the certificate was made for. A credential plugin may have given them.",
);

export const ProxyRefused = defineError(
  "KUBE_PROXY_REFUSED",
  "the proxy {proxy} did not open a way to {target}: {reason}",
  "Check proxy-url in the kubeconfig or HTTPS_PROXY, and the credentials of the proxy.",
);
