import type { Clock } from "@fjord/base";
import type { SpdyStream } from "./spdy-stream.ts";

export interface SpdyOptions {
  role: "client" | "server";
  /** Told of each stream that the other end opens; it must accept or refuse it. @default all are refused */
  onStream?: (stream: SpdyStream) => void;
  /** Cuts the connection when no frame came or went for this long. @default never */
  idleTimeoutMs?: number;
  /** How long the other end may take to close after `close`. @default 5000 */
  lingerMs?: number;
  /**
   * False: nothing is sent but what must be, where the other end heeds no windows and closes as soon as it has written
   * everything. Whatever reached it after that would make the kernel here throw away what is still to be read.
   * @default true
   */
  announceWindows?: boolean;
  limits?: Partial<SpdyLimits>;
  clock?: Clock;
}

export interface SpdyLimits {
  /** Bytes of a control frame. @default 65536 */
  controlFrame: number;
  /** Bytes of a header block once decompressed. @default 65536 */
  headerBlock: number;
  /** Streams that the other end may have open at once. @default 512 */
  streams: number;
  /** Bytes that a stream keeps for a reader. @default 131072 */
  window: number;
}

export const DEFAULT_LIMITS: SpdyLimits = { controlFrame: 65536, headerBlock: 65536, streams: 512, window: 131072 };
