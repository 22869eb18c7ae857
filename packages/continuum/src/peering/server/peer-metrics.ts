/** What the server of the agents' protocol, and the proxy below it, count. */
export interface PeerMetrics {
  /** A request was answered; `route` is one of a fixed set of words. */
  request(route: string, status: number, seconds: number): void;
  /** A connection was refused before any request: why, in one of a fixed set of words. */
  connectionRefused(reason: string): void;
  /** How many connections are open now. */
  connections(open: number): void;
  /** A request of a tenant, by what it was and what became of it. */
  proxied(verb: string, resource: string, status: number, seconds: number): void;
}

export const noPeerMetrics: PeerMetrics = { request() {}, connectionRefused() {}, connections() {}, proxied() {} };
