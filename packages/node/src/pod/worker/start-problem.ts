import { describeError } from "@fjord/base";
import { LimitTooSmall } from "../../runtime/errors.ts";

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

export function asStartProblem(error: unknown): StartProblem {
  if (error instanceof StartProblem) return error;
  return new StartProblem("CreateContainerError", describeError(error), undefined, { cause: error });
}

/** How long to wait between tries: what is wrong on this machine is tried again soon, what is wrong with the pod less and less. */
export function retryDelays({ reason, later, cause }: StartProblem): { initial: number; max: number } {
  if (reason === UNSUPPORTED) return { initial: UNSUPPORTED_RETRY_MS, max: UNSUPPORTED_RETRY_MS };
  // So are pulls from far away.
  const isSlow = later !== undefined || cause instanceof LimitTooSmall;
  return isSlow ? { initial: 10_000, max: 300_000 } : { initial: 2_000, max: 10_000 };
}
