/** Something long-lived that a manager starts and stops. Every `Controller` is one. */
export interface Runnable {
  readonly name: string;
  /** Runs only while this process leads. @default false (controllers: true) */
  readonly needsLeaderElection?: boolean;
  /** Starts before caches are in sync, and stops last: servers of health and metrics, the event recorder. @default false */
  readonly early?: boolean;
  /**
   * Runs until `stop` aborts, then finishes what it has in hand and resolves; when `abandon` aborts, it drops even that.
   * Rejecting stops the whole manager.
   */
  run(stop: AbortSignal, abandon: AbortSignal): Promise<void>;
}
