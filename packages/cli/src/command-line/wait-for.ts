import type { Kind, KubeObject } from "@fjord/base";
import { ifNotFound, type KubeClient, type ObjectKey } from "@fjord/kube";
import { TimedOut, WishRefused } from "../errors.ts";

/** Timers of Node go no further: 24 days. */
const LONGEST_TIMER_MS = 2 ** 31 - 1;

export interface WaitOptions {
  readonly signal: AbortSignal;
  readonly timeoutMs: number;
  /** Completes "... within 60 s". */
  readonly what: string;
  /** Says in a few words how far it is; told whenever that is something new. */
  readonly told?: (progress: string) => void;
  /** The error where time is over, with what was told last; `TimedOut` unless there is better advice. */
  readonly late?: (seconds: number, last: string) => Error;
  /** The error where waiting will not help; `WishRefused` unless there is better advice. */
  readonly refusal?: (reason: string) => Error;
}

/** What `look` found: done, or how far it is. */
export type Progress =
  | { readonly done: true }
  /** `refused`: waiting will not help. */
  | { readonly done: false; readonly progress: string; readonly refused?: boolean };

/**
 * Follows one object until `look` is content with it; undefined stands for an object that does not exist. What `look` itself
 * asks for must end with the signal that it is given.
 */
export async function waitFor<T extends KubeObject>(
  client: KubeClient,
  kind: Kind<T>,
  key: ObjectKey,
  look: (object: T | undefined, signal: AbortSignal) => Progress | Promise<Progress>,
  options: WaitOptions,
): Promise<void> {
  const { signal, timeoutMs, what, told = () => {} } = options;
  const {
    late: lateError = (seconds: number, said: string) => new TimedOut({ what, seconds, last: said }),
    refusal = (reason: string) => new WishRefused({ what, reason }),
  } = options;
  // What is left of a time by a clock is no whole number, and Node takes no other.
  const late = AbortSignal.timeout(Math.ceil(Math.min(timeoutMs, LONGEST_TIMER_MS)));
  const either = AbortSignal.any([signal, late]);
  let last = "";
  const isDone = async (object: T | undefined) => {
    const progress = await look(object, either);
    if (progress.done) return true;
    if (progress.refused) throw refusal(progress.progress);
    if (progress.progress !== last) told(progress.progress);
    last = progress.progress;
    return false;
  };
  try {
    for (;;) {
      const object = await client.get(kind, key, { signal: either }).catch(ifNotFound);
      if (await isDone(object)) return;
      const scope = {
        fieldSelector: `metadata.name=${key.name}`,
        ...(key.namespace !== undefined && { namespace: key.namespace }),
        ...(object?.metadata.resourceVersion !== undefined && { resourceVersion: object.metadata.resourceVersion }),
        timeoutSeconds: 30,
        signal: either,
      };
      for await (const event of client.watch(kind, scope)) {
        if (event.type === "BOOKMARK") continue;
        if (await isDone(event.type === "DELETED" ? undefined : event.object)) return;
      }
    }
  } catch (error) {
    if (late.aborted && !signal.aborted) throw lateError(timeoutMs / 1000, last || "nothing");
    throw error;
  }
}
