import { Backoff, type Clock, describeError, type Logger, type Random, sleep } from "@fjord/base";
import type { Runtime, RuntimeSandbox } from "../../runtime/index.ts";
import { fingerprint, nothingObserved, type ObservedPod, observePod } from "../observed-pod.ts";

export interface RuntimeViewOptions {
  readonly runtime: Runtime;
  /** Told the uid of each pod of which something has changed. */
  readonly onChange: (podUid: string) => void;
  /** How long nothing may be listed, for what `changes` has missed. @default 30_000 */
  readonly relistMs?: number;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
}

/** After a list comes a longer pause than it took, so that a thousand wishes do not keep the runtime busy with lists. */
const PAUSE_FACTOR = 3;
const LEAST_PAUSE_MS = 10;
const LONGEST_PAUSE_MS = 500;

/** What a runtime has, listed as a whole for all pods at once and kept up to date. */
export class RuntimeView {
  readonly runtime: Runtime;
  readonly #options: RuntimeViewOptions;
  #pods = new Map<string, { readonly print: string; readonly observed: ObservedPod }>();
  #waiting: (() => void)[] = [];
  #wake: () => void = () => {};
  #isListed = false;
  #name = "";

  constructor(options: RuntimeViewOptions) {
    this.#options = options;
    this.runtime = options.runtime;
  }

  /** False until the runtime has answered for the first time. */
  get isListed(): boolean {
    return this.#isListed;
  }

  /** `containerd` */
  get runtimeName(): string {
    return this.#name;
  }

  get(podUid: string): ObservedPod {
    return this.#pods.get(podUid)?.observed ?? nothingObserved;
  }

  uids(): Iterable<string> {
    return this.#pods.keys();
  }

  /** Resolves when a list that was begun after this call is here, however long the runtime is away. */
  refresh(): Promise<void> {
    return new Promise((resolve) => {
      this.#waiting.push(resolve);
      this.#wake();
    });
  }

  async run(signal: AbortSignal): Promise<void> {
    const stop = () => this.#wake();
    signal.addEventListener("abort", stop);
    await Promise.all([this.#keepListing(signal), this.#followChanges(signal)]);
    signal.removeEventListener("abort", stop);
  }

  async #keepListing(signal: AbortSignal): Promise<void> {
    const { clock, random, logger, relistMs = 30_000 } = this.#options;
    const backoff = new Backoff({ initial: 100, max: 5_000, random });
    while (!signal.aborted) {
      const served = this.#waiting;
      this.#waiting = [];
      const began = clock.now();
      try {
        await this.#list(signal);
        backoff.reset();
      } catch (error) {
        if (signal.aborted) break;
        this.#waiting.unshift(...served);
        if (backoff.failures === 0) logger.warn("cannot list what the runtime has", { error: describeError(error) });
        await sleep(clock, backoff.next(), signal);
        continue;
      }
      for (const resolve of served) resolve();
      const pause = Math.min(Math.max(PAUSE_FACTOR * (clock.now() - began), LEAST_PAUSE_MS), LONGEST_PAUSE_MS);
      await sleep(clock, pause, signal);
      if (this.#waiting.length === 0) await this.#untilWanted(relistMs, signal);
    }
  }

  async #untilWanted(relistMs: number, signal: AbortSignal): Promise<void> {
    if (signal.aborted) return;
    await new Promise<void>((resolve) => {
      const cancel = this.#options.clock.after(relistMs, resolve);
      this.#wake = () => {
        cancel();
        resolve();
      };
    });
    this.#wake = () => {};
  }

  async #list(signal: AbortSignal): Promise<void> {
    const { runtime } = this.#options;
    if (this.#name === "") this.#name = (await runtime.version(signal)).name;
    const byPod = new Map<string, RuntimeSandbox[]>();
    for (const sandbox of await runtime.list(signal)) {
      const { uid } = sandbox.pod;
      const others = byPod.get(uid);
      if (others === undefined) byPod.set(uid, [sandbox]);
      else others.push(sandbox);
    }
    const before = this.#pods;
    this.#pods = new Map();
    const changed = [...before.keys()].filter((uid) => !byPod.has(uid));
    for (const [uid, sandboxes] of byPod) {
      const print = fingerprint(sandboxes);
      const old = before.get(uid);
      if (old?.print !== print) changed.push(uid);
      this.#pods.set(uid, old?.print === print ? old : { print, observed: observePod(sandboxes) });
    }
    this.#isListed = true;
    for (const uid of changed) this.#options.onChange(uid);
  }

  async #followChanges(signal: AbortSignal): Promise<void> {
    const { runtime, clock, random, logger } = this.#options;
    const backoff = new Backoff({ initial: 200, max: 5_000, random });
    while (!signal.aborted) {
      try {
        for await (const _ of runtime.changes(signal)) {
          backoff.reset();
          void this.refresh();
        }
      } catch (error) {
        if (signal.aborted) return;
        // One line for an outage.
        if (backoff.failures === 0)
          logger.warn("the runtime no longer tells of changes", { error: describeError(error) });
      }
      await sleep(clock, backoff.next(), signal);
      void this.refresh();
    }
  }
}
