import type { IncomingMessage, ServerResponse } from "node:http";
import type { Duplex } from "node:stream";
import type { Site } from "@fjord/api";
import type { PeerIdentity } from "./site-identity.ts";

/** Who asks: a peer whose certificate was checked, and its Site object where there is one. */
export interface Caller extends PeerIdentity {
  readonly site?: Site;
}

export interface PeerCall {
  readonly caller: Caller;
  /** Parts of the path that the route names with a colon. */
  readonly params: Readonly<Record<string, string>>;
  /** Parsed JSON; hostile until it is checked. */
  readonly body: unknown;
  readonly signal: AbortSignal;
}

/** One request of the agents' protocol, contributed by the domain that knows the answer. */
export interface PeerRoute {
  readonly method: "GET" | "POST" | "PUT" | "DELETE";
  /** Below `PROTOCOL`, such as `/contracts/:id/signature`. */
  readonly path: string;
  /** `stranger`: whoever has a key. `peer`: a Site object names its id. `consumer`: that one also may consume. */
  readonly access: "stranger" | "peer" | "consumer";
  /** As how many questions it counts, for one that takes long to answer. @default 1 */
  readonly cost?: number;
  /** The answer as JSON. Throws `PeerRefused` to refuse. */
  handle(call: PeerCall): Promise<unknown>;
}

/** Everything below a prefix, for what is no JSON: the proxy, the tunnel. */
export interface RawRoute {
  readonly prefix: string;
  /** `parting`: as `peer`, and also one that is being forgotten, as long as it has to be told what ends. */
  readonly access: PeerRoute["access"] | "parting";
  handle?(request: IncomingMessage, response: ServerResponse, caller: Caller): void | Promise<void>;
  upgrade?(request: IncomingMessage, socket: Duplex, head: Buffer, caller: Caller): void | Promise<void>;
}
