import type { IncomingMessage } from "node:http";
import type { Caller } from "../cluster.ts";

export interface Authenticator {
  /** undefined: nobody that is known. Throws a `StatusError` (401) for credentials that are wrong. */
  authenticate(request: IncomingMessage): Promise<Caller | undefined>;
}
