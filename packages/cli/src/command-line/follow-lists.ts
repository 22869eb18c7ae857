import type { Kind, KubeObject } from "@fjord/base";
import { Cache, type KubeClient } from "@fjord/kube";
import type { CommandContext } from "./command-context.ts";

/** Changes that come within this time are shown together. */
const TOGETHER_MS = 100;
/** What changes without a change of theirs is looked at that often. */
const LOOK_AGAIN_MS = 1_000;

/**
 * Follows all objects of some kinds, and tells of them once and then after each change, until the signal aborts. An API that
 * is away for a while comes back. Where `show` gives true, it is told again soon, whatever has changed.
 */
export async function followLists(
  client: KubeClient,
  kinds: readonly Kind<KubeObject>[],
  { signal, clock, random, logger }: CommandContext,
  show: (lists: readonly KubeObject[][]) => Promise<boolean>,
): Promise<never> {
  const caches = kinds.map(
    (kind) => new Cache({ kind, client, clock, random, logger, transform: withoutManagedFields }),
  );
  const running = caches.map((cache) => cache.run(signal));
  const end = Promise.withResolvers<never>();
  const onAbort = () => end.reject(signal.reason);
  let cancel = () => {};
  let shown = Promise.resolve();
  const showAfter = (ms: number) => {
    cancel();
    cancel = clock.after(ms, () => {
      shown = shown.then(async () => {
        const again = await show(caches.map((cache) => byName(cache.list())));
        if (again && !signal.aborted) showAfter(LOOK_AGAIN_MS);
      });
      shown.catch(end.reject);
    });
  };
  const changed = () => showAfter(TOGETHER_MS);
  try {
    await Promise.all(caches.map((cache) => cache.waitForSync(signal)));
    signal.throwIfAborted();
    signal.addEventListener("abort", onAbort, { once: true });
    for (const cache of caches) cache.addHandler({ onAdd: changed, onUpdate: changed, onDelete: changed });
    changed();
    return await end.promise;
  } finally {
    cancel();
    signal.removeEventListener("abort", onAbort);
    if (signal.aborted) await Promise.allSettled(running);
  }
}

/** Nobody reads them, and kubectl leaves them out too. */
function withoutManagedFields<T extends KubeObject>(object: T): T {
  const { managedFields: _, ...metadata } = object.metadata as T["metadata"] & { managedFields?: unknown };
  return { ...object, metadata };
}

export function byName<T extends KubeObject>(objects: readonly T[]): T[] {
  return objects.toSorted((a, b) => key(a).localeCompare(key(b)));
}

function key({ metadata }: KubeObject): string {
  return `${metadata.name ?? ""}/${metadata.namespace ?? ""}`;
}
