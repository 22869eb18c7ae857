import type { Kind, KubeObject } from "@fjord/base";
import { isBeingDeleted, type KubeClient, type ObjectKey } from "@fjord/kube";
import { BeingRemoved } from "../errors.ts";
import { type Progress, waitFor } from "./wait-for.ts";

export interface RemovalOptions<T extends KubeObject> {
  readonly signal: AbortSignal;
  readonly timeoutMs: number;
  /** What it is for people, such as `peering lively-wave`. */
  readonly what: string;
  readonly told?: (progress: string) => void;
  /** What its removal waits for, where that is known. */
  readonly detail?: (object: T) => string;
}

/**
 * Waits for the end of an object that is being removed: what is written into it until then goes with it, and a wish would be
 * lost. Where there is none, or one that stays, there is nothing to wait for.
 */
export async function afterRemoval<T extends KubeObject>(
  client: KubeClient,
  kind: Kind<T>,
  key: ObjectKey,
  { detail, ...waiting }: RemovalOptions<T>,
): Promise<void> {
  const { what } = waiting;
  const look = (found: T | undefined): Progress => {
    if (found === undefined || !isBeingDeleted(found)) return { done: true };
    const text = detail?.(found) ?? "";
    return { done: false, progress: `waiting until ${what} of before is removed${text && `: ${text}`}` };
  };
  const late = (seconds: number) => new BeingRemoved({ what, seconds });
  await waitFor(client, kind, key, look, { ...waiting, late });
}
