/** How to reach one Kubernetes API, with everything looked up: what every way of configuring a client ends in. */
export interface ClusterConfig {
  /** Base URL, without a slash at its end; a path (an API behind a proxy) is kept. */
  readonly server: string;
  /** Where requests go that name no namespace. */
  readonly namespace: string;
  readonly tls: TlsConfig;
  /** Absent where a client certificate, or nothing, is the credential. */
  readonly credentials?: Credentials;
  /** Headers sent with every request, impersonation among them; a header with several values is sent once for each. */
  readonly headers?: Readonly<Record<string, string | string[]>>;
  /** An HTTP proxy to go through. */
  readonly proxy?: string;
}

/** PEM texts, in memory. */
export interface TlsConfig {
  readonly ca?: string;
  readonly cert?: string;
  readonly key?: string;
  /** The name to expect in the server's certificate where it differs from the host of the URL. */
  readonly serverName?: string;
  readonly insecureSkipVerify?: boolean;
}

/** A credential that may change while the client lives: a token read from a file again, or given by a plugin. */
export interface Credentials {
  /** What to send now. */
  current(): Promise<Credential>;
  /** The server answered 401: whatever is cached is fetched anew on the next call. */
  rejected(): void;
}

export interface Credential {
  /** Value of the Authorization header, such as `Bearer …`. */
  readonly authorization?: string;
  /** A client certificate that came from a plugin. */
  readonly cert?: string;
  readonly key?: string;
}
