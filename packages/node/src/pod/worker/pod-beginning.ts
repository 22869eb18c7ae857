import { Backoff, describeError, onAbort } from "@fjord/base";
import type { Pod } from "@fjord/kube";
import { uidOf } from "../pod-containers.ts";
import { type PodServices, sayer } from "./pod-services.ts";
import { PodWorker } from "./pod-worker.ts";
import { chooseRuntime, type RuntimeChooser } from "./runtime-choice.ts";

export interface PodBeginningOptions extends PodServices, Omit<RuntimeChooser, "objects"> {
  readonly pod: Pod;
  readonly signal: AbortSignal;
  readonly onGone: () => void;
}

/** A pod whose runtime is still to be found out. */
export class PodBeginning {
  readonly #options: PodBeginningOptions;
  #retry: () => void = () => {};

  constructor(options: PodBeginningOptions) {
    this.#options = options;
  }

  get pod(): Pod {
    return this.#options.source.get(uidOf(this.#options.pod)) ?? this.#options.pod;
  }

  retryNow(): void {
    this.#retry();
  }

  /** The pod's worker; undefined where the pod is gone before one was needed. */
  async worker(): Promise<PodWorker | undefined> {
    const { signal, source, logger, random, objects, views } = this.#options;
    const backoff = new Backoff({ initial: 500, max: 10_000, random });
    await Promise.race(views.map(async (view) => view.isListed || (await view.refresh())));
    while (!signal.aborted && source.get(uidOf(this.#options.pod)) !== undefined) {
      const { pod } = this;
      objects.follow(pod);
      try {
        const choice = await chooseRuntime(pod, this.#options, signal);
        return new PodWorker({ ...this.#options, ...choice, pod });
      } catch (error) {
        if (signal.aborted) break;
        const message = `Failed to create pod sandbox: ${describeError(error)}`;
        sayer(this.#options, () => pod)("Warning", "FailedCreatePodSandBox", message);
        logger.warn("cannot choose a runtime for a pod", { pod: uidOf(pod), error: describeError(error) });
        await this.#wait(backoff.next());
      }
    }
    return undefined;
  }

  async #wait(ms: number): Promise<void> {
    const { clock, signal } = this.#options;
    await new Promise<void>((resolve) => {
      const cancel = clock.after(ms, resolve);
      const release = onAbort(signal, resolve);
      this.#retry = () => {
        cancel();
        release();
        resolve();
      };
    });
    this.#retry();
    this.#retry = () => {};
  }
}
