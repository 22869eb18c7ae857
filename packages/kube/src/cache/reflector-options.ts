import type { Clock, Kind, KubeObject, Logger, Random } from "@fjord/base";
import type { ListWatcher } from "../client/interfaces.ts";

/** Which objects of a kind: all, unless narrowed. */
export interface Scope {
  /** Absent: all namespaces. */
  namespace?: string;
  labelSelector?: string;
  fieldSelector?: string;
}

/** How a reflector paces itself. All times in milliseconds. */
export interface ReflectorTiming {
  /** Objects per page of a list. @default 500 */
  pageSize: number;
  /** Objects compared with the server after a break. @default 500 */
  verifySize: number;
  /** How long a page of a list may take. @default 60_000 */
  listTimeoutMs: number;
  /** A watch is given up when nothing arrives for this long; servers send a bookmark about once a minute. @default 120_000 */
  idleTimeoutMs: number;
  /** Each watch asks for a time between half of this and the whole, so that many do not end together. @default 600_000 */
  watchTimeoutMs: number;
  /** The delay after the first failure. @default 800 */
  backoffInitialMs: number;
  /** The longest delay. @default 30_000 */
  backoffMaxMs: number;
  /** How long a watch has to live before failures are forgotten. @default 5_000 */
  stableMs: number;
}

export const defaultTiming: ReflectorTiming = {
  pageSize: 500,
  verifySize: 500,
  listTimeoutMs: 60_000,
  idleTimeoutMs: 120_000,
  watchTimeoutMs: 600_000,
  backoffInitialMs: 800,
  backoffMaxMs: 30_000,
  stableMs: 5_000,
};

export interface ReflectorOptions<T extends KubeObject> {
  client: ListWatcher;
  kind: Kind<T>;
  scope?: Scope;
  timing?: Partial<ReflectorTiming>;
  /** For caches that trim them anyway: neither lists nor watches make objects of them. @default false */
  omitManagedFields?: boolean;
  /** Called with each failure, before the wait that follows it. */
  onFailure?: (error: unknown) => void;
  clock: Clock;
  random: Random;
  logger: Logger;
}

/** No server's wish makes a reflector wait for longer than this: five minutes. */
export const longestRetryAfterMs = 300_000;

/** So many pages in a row may hold nothing new: a server may leave out what a selector does not match. */
export const mostIdlePages = 100;

/** How a reflector fares. */
export interface ReflectorHealth {
  /** Whether the content was complete once; it stays readable through later failures. */
  readonly synced: boolean;
  /** Failures since the last watch that held. */
  readonly failures: number;
  /** What went wrong last, until a watch holds again. */
  readonly lastError?: { readonly error: unknown; readonly at: number };
  /** How many objects are held as they came, because the transform failed. */
  readonly untransformed: number;
  /** Where the content stands. */
  readonly resourceVersion?: string;
}
