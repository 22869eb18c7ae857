/** Reason of what the runtime cannot honour, in statuses and events. */
export const UNSUPPORTED = "RuntimeUnsupported";
/** Only another machine could honour it, or a program that someone installs. */
export const UNSUPPORTED_RETRY_MS = 300_000;

/** Why a container could not be started, in the words of its status. */
export class StartProblem extends Error {
  readonly reason: string;
  /** What the status says from the next look on. */
  readonly later?: { readonly reason: string; readonly message: string };

  constructor(reason: string, message: string, later?: { reason: string; message: string }, options?: ErrorOptions) {
    super(message, options);
    this.name = "StartProblem";
    this.reason = reason;
    if (later !== undefined) this.later = later;
  }
}

/** How long to wait between tries: what is wrong on this machine is tried again soon. */
export function retryDelays({ reason, later }: StartProblem): { initial: number; max: number } {
  if (reason === UNSUPPORTED) return { initial: UNSUPPORTED_RETRY_MS, max: UNSUPPORTED_RETRY_MS };
  // Pulls from far away are repeated less and less.
  return later === undefined ? { initial: 2_000, max: 10_000 } : { initial: 10_000, max: 300_000 };
}
