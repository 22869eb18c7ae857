import { type Clock, describeError, type Kind, type KubeObject, type Logger, type Random, sleep } from "@fjord/base";
import { Cache, ifNotFound, type ListWatcher, type Reader, sameContent, trimManagedFields } from "@fjord/kube";
import type { StoredKey } from "../store/node-store.ts";
import { quietLogger } from "./quiet-logger.ts";

export interface FollowOptions<T extends KubeObject> {
  readonly client: ListWatcher & Pick<Reader, "get">;
  readonly kind: Kind<T>;
  readonly key: StoredKey;
  /** How often an object that is not watched is read again. */
  readonly pollMs: number;
  /** Whether the object cannot change any more, so that nobody needs to look. */
  readonly settled: (object: T) => boolean;
  /** Told of each state that differs from the one before, the first among them; undefined: it does not exist. */
  readonly changed: (object: T | undefined) => void;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
}

/** One object that is kept up to date until it is stopped. */
export interface FollowedObject<T> {
  /** Whether the API has said what the object is, or that it is not. */
  readonly known: boolean;
  readonly value: T | undefined;
  /** Why not, while it is not known. */
  readonly lastError: unknown;
  /** Makes sure that what is read from now on is no older than this moment, where no watch does. */
  refresh(): void;
  stop(): Promise<void>;
}

/**
 * By a watch on that one name, which is all that a node is allowed.
 */
export function watchObject<T extends KubeObject>(options: FollowOptions<T>): FollowedObject<T> {
  const { kind, key, clock, random } = options;
  const stop = new AbortController();
  const cache = new Cache<T>({
    client: options.client,
    kind,
    scope: { fieldSelector: `metadata.name=${key.name}`, ...(key.namespace !== "" && { namespace: key.namespace }) },
    transform: trimManagedFields,
    // The API's word that a pod is here may reach those who guard its objects a moment after us.
    timing: { backoffInitialMs: 100, backoffMaxMs: 10_000 },
    clock,
    random,
    logger: quietLogger(options.logger),
  });
  let told = false;
  const tell = (object: T | undefined) => {
    told = true;
    options.changed(object);
    if (object !== undefined && options.settled(object)) stop.abort();
  };
  cache.addHandler({
    onAdd: (object) => tell(object),
    onUpdate: (_, object) => tell(object),
    onDelete: () => tell(undefined),
  });
  const run = cache.run(stop.signal);
  cache.waitForSync(stop.signal).then(
    () => {
      if (!told) tell(undefined);
    },
    () => {
      // Stopped before it was known.
    },
  );
  return {
    get known() {
      return cache.hasSynced;
    },
    get value() {
      return cache.get({ name: key.name, ...(key.namespace !== "" && { namespace: key.namespace }) });
    },
    get lastError() {
      return cache.health.lastError?.error;
    },
    refresh() {},
    stop: () => {
      stop.abort();
      return run;
    },
  };
}

/** By reading it now and then: for those beyond the number of connections that a node should hold open. */
export function pollObject<T extends KubeObject>(options: FollowOptions<T>): FollowedObject<T> {
  const { client, kind, key, clock, random, logger, pollMs } = options;
  const stop = new AbortController();
  let awake = new AbortController();
  const state = { known: false, value: undefined as T | undefined, lastError: undefined as unknown };
  const read = async () => {
    const name = { name: key.name, ...(key.namespace !== "" && { namespace: key.namespace }) };
    const { signal } = awake;
    const found = await client.get(kind, name, { signal: stop.signal }).catch(ifNotFound);
    const value = found === undefined ? undefined : trimManagedFields(found);
    const news = !state.known || !sameContent(state.value, value);
    // One that was asked for again meanwhile may have been too early.
    Object.assign(state, { known: !signal.aborted, value, lastError: undefined });
    if (news) options.changed(value);
  };
  const run = async () => {
    let failures = 0;
    while (!stop.signal.aborted) {
      try {
        await read();
        failures = 0;
      } catch (error) {
        failures++;
        state.lastError = error;
        logger.debug("cannot read an object again", { ...key, error: describeError(error) });
      }
      if (state.known && state.value !== undefined && options.settled(state.value)) return;
      const wait = failures === 0 ? pollMs : Math.min(10_000, 100 * 2 ** failures);
      await sleep(clock, wait * (0.9 + 0.2 * random()), AbortSignal.any([stop.signal, awake.signal]));
      if (awake.signal.aborted) awake = new AbortController();
    }
  };
  const running = run();
  return {
    get known() {
      return state.known;
    },
    get value() {
      return state.value;
    },
    get lastError() {
      return state.lastError;
    },
    refresh() {
      // What cannot change any more needs no look.
      if (state.value !== undefined && options.settled(state.value)) return;
      state.known = false;
      awake.abort();
    },
    stop: () => {
      stop.abort();
      return running;
    },
  };
}
