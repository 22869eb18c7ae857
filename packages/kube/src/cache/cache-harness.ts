import {
  type Clock,
  type Kind,
  type KubeObject,
  type Random,
  seededRandom,
  silentLogger,
  sleep,
  systemClock,
} from "@fjord/base";
import { KubeClient } from "../client/client.ts";
import { Cache, type CacheOptions } from "./cache.ts";
import type { CacheHandler } from "./handlers.ts";
import type { ReflectorTiming } from "./reflector-options.ts";
import { keyTextOf } from "./store.ts";

/** What the tests of the cache keep objects of. */
export interface ConfigMap extends KubeObject {
  data?: Record<string, string>;
}

export const configMaps: Kind<ConfigMap> = {
  group: "",
  version: "v1",
  kind: "ConfigMap",
  plural: "configmaps",
  namespaced: true,
};

/** Short enough for a test, long enough to count requests by. */
export const quickTiming: Partial<ReflectorTiming> = {
  backoffInitialMs: 4,
  backoffMaxMs: 40,
  stableMs: 200,
  idleTimeoutMs: 2_000,
  listTimeoutMs: 2_000,
};

/** Writes down each call: `add a@3`, `initial a@3`, `update a@3 a@5`, `delete a@7`, and `gone a@5` where the end was not seen. */
export class RecordingHandler<T extends KubeObject> implements CacheHandler<T> {
  readonly calls: string[] = [];

  onAdd(object: T, { initial }: { initial: boolean }): void {
    this.calls.push(`${initial ? "initial" : "add"} ${versionOf(object)}`);
  }

  onUpdate(old: T, object: T): void {
    this.calls.push(`update ${versionOf(old)} ${versionOf(object)}`);
  }

  onDelete(last: T, { unknownFinalState }: { unknownFinalState: boolean }): void {
    this.calls.push(`${unknownFinalState ? "gone" : "delete"} ${versionOf(last)}`);
  }

  /** The calls since the last time. */
  take(): string[] {
    return this.calls.splice(0);
  }
}

/** `name@resourceVersion`, for what lies in the namespace `default`. */
export function versionOf(object: KubeObject): string {
  return `${keyTextOf(object).replace("default/", "")}@${object.metadata.resourceVersion}`;
}

export interface RunningCache extends AsyncDisposable {
  readonly cache: Cache<ConfigMap>;
  readonly handler: RecordingHandler<ConfigMap>;
  readonly client: KubeClient;
}

export interface RunOptions extends Omit<Partial<CacheOptions<ConfigMap>>, "client" | "kind"> {
  /** Of the client too, when given. */
  clock?: Clock;
  random?: Random;
}

/** A cache of ConfigMaps, running through a real client, with a handler that writes everything down. */
export function runCache(server: { url: string }, options: RunOptions = {}): RunningCache {
  const clock = options.clock ?? systemClock;
  const client = new KubeClient({ server: server.url, namespace: "default", tls: {} }, { clock });
  const cache = new Cache<ConfigMap>({
    client,
    kind: configMaps,
    random: seededRandom(1),
    logger: silentLogger,
    timing: quickTiming,
    ...options,
    clock,
  });
  const handler = new RecordingHandler<ConfigMap>();
  cache.addHandler(handler);
  const stop = new AbortController();
  const running = cache.run(stop.signal);
  return {
    cache,
    handler,
    client,
    async [Symbol.asyncDispose]() {
      stop.abort();
      await running;
      await client.close();
    },
  };
}

/** Looks until the condition holds; fails with what it was about after ten seconds. */
export async function until(about: string, condition: () => boolean, timeoutMs = 30_000): Promise<void> {
  const deadline = Date.now() + timeoutMs;
  while (!condition()) {
    if (Date.now() > deadline) throw new Error(`waited in vain: ${about}`);
    await sleep(systemClock, 2);
  }
}
