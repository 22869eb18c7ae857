/** Where a stream program listens. */
export const STREAM_PORT = 9000;
export const DATAGRAM_PORT = 9001;

/** What a stream program is told to do, one line of JSON each. */
export interface Order {
  readonly do: "long" | "datagrams" | "ask" | "report" | "reset" | "end";
  readonly id: string;
  readonly host: string;
  readonly port?: number;
  readonly path?: string;
  readonly everyMs?: number;
  readonly patienceMs?: number;
  /** Of a report: only of what was begun from then on, in milliseconds since the epoch. */
  readonly from?: number;
}

/** How a long connection is. */
export interface LongReport {
  readonly sent: number;
  readonly received: number;
  readonly confirmed: number;
  /** Since the last reset. */
  readonly longestSilenceMs: number;
  /** By now. */
  readonly silentMs: number;
  /** Why it has ended, or what was lost, doubled or out of order. */
  readonly problem?: string;
}
