import type { Kind, KubeObject } from "@fjord/base";
import { isNotFound, type KubeClient, type ObjectKey } from "@fjord/kube";
import { TimedOut, WishRefused } from "../errors.ts";

export interface WaitOptions {
  readonly signal: AbortSignal;
  readonly timeoutMs: number;
  /** Completes "... within 60 s". */
  readonly what: string;
  /** Says in a few words how far it is; told whenever that is something new. */
  readonly told?: (progress: string) => void;
}

/** What `look` found: done, or how far it is. */
export type Progress =
  | { readonly done: true }
  /** `refused`: waiting will not help. */
  | { readonly done: false; readonly progress: string; readonly refused?: boolean };

/** Follows one object until `look` is content with it; undefined stands for an object that does not exist. */
export async function waitFor<T extends KubeObject>(
  client: KubeClient,
  kind: Kind<T>,
  key: ObjectKey,
  look: (object: T | undefined) => Progress,
  options: WaitOptions,
): Promise<void> {
  const { signal, timeoutMs, what, told = () => {} } = options;
  const late = AbortSignal.timeout(timeoutMs);
  const either = AbortSignal.any([signal, late]);
  let last = "";
  const isDone = (object: T | undefined) => {
    const progress = look(object);
    if (progress.done) return true;
    if (progress.refused) throw new WishRefused({ what, reason: progress.progress });
    if (progress.progress !== last) told(progress.progress);
    last = progress.progress;
    return false;
  };
  try {
    for (;;) {
      const object = await client.get(kind, key, { signal: either }).catch((error: unknown) => {
        if (isNotFound(error)) return undefined;
        throw error;
      });
      if (isDone(object)) return;
      const scope = {
        fieldSelector: `metadata.name=${key.name}`,
        ...(key.namespace !== undefined && { namespace: key.namespace }),
        ...(object?.metadata.resourceVersion !== undefined && { resourceVersion: object.metadata.resourceVersion }),
        timeoutSeconds: 30,
        signal: either,
      };
      for await (const event of client.watch(kind, scope)) {
        if (event.type === "BOOKMARK") continue;
        if (isDone(event.type === "DELETED" ? undefined : event.object)) return;
      }
    }
  } catch (error) {
    if (late.aborted && !signal.aborted)
      throw new TimedOut({ what, seconds: timeoutMs / 1000, last: last || "nothing" });
    throw error;
  }
}
