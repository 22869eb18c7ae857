import { backoffDelay, describeError } from "@fjord/base";
import { missingDns } from "../forge/dns.ts";
import { forgeSandbox } from "../forge/sandbox-forge.ts";
import { podFields } from "../pod-containers.ts";
import { type Say, sayer, type WorkerContext } from "./pod-services.ts";
import type { VolumeKeeper } from "./volume-keeper.ts";

/** Makes and takes down the sandboxes of one pod, and the volumes that have to be there before. */
export class SandboxKeeper {
  readonly #context: WorkerContext;
  readonly #volumes: VolumeKeeper;
  readonly #say: Say;
  #isBusy = false;
  #failures = 0;
  #retryAt: number | undefined;
  #controller = new AbortController();

  constructor(context: WorkerContext, volumes: VolumeKeeper) {
    this.#context = context;
    this.#volumes = volumes;
    this.#say = sayer(context, context.pod);
  }

  get isBusy(): boolean {
    return this.#isBusy;
  }

  get retryAt(): number | undefined {
    return this.#retryAt;
  }

  retryNow(): void {
    this.#retryAt = undefined;
  }

  /** Gives up making one: the pod is to end. */
  cancel(): void {
    this.#controller.abort();
    this.#controller = new AbortController();
  }

  make(attempt: number): void {
    const signal = AbortSignal.any([this.#controller.signal, this.#context.signal]);
    void this.#exclusively(signal, async () => {
      const { calls, view, handler, settings } = this.#context;
      const pod = this.#context.pod();
      if (attempt > 0) {
        this.#say("Normal", "SandboxChanged", "Pod sandbox changed, it will be killed and re-created.");
      }
      const problem = missingDns(pod, settings);
      if (problem !== undefined) this.#say("Warning", "MissingClusterDNS", problem);
      await this.#volumes.ensureAnew(signal);
      try {
        const config = forgeSandbox(pod, attempt, handler, settings);
        await calls.run(async () => {
          signal.throwIfAborted();
          await view.runtime.runSandbox(config, signal);
        });
      } catch (error) {
        const message = `Failed to create pod sandbox: ${describeError(error)}`;
        if (!signal.aborted) this.#say("Warning", "FailedCreatePodSandBox", message);
        throw error;
      }
    });
  }

  /** Stops and removes sandboxes. */
  clear(stop: readonly string[], remove: readonly string[]): void {
    const { signal, view } = this.#context;
    void this.#exclusively(signal, async () => {
      for (const id of [...stop, ...remove]) await view.runtime.stopSandbox(id, signal);
      for (const id of remove) await view.runtime.removeSandbox(id, signal);
    });
  }

  async #exclusively(signal: AbortSignal, work: () => Promise<void>): Promise<void> {
    const { clock, random, logger, view, wake } = this.#context;
    this.#isBusy = true;
    try {
      await work();
      this.#failures = 0;
      this.#retryAt = undefined;
    } catch (error) {
      if (!signal.aborted) {
        const delay = backoffDelay(this.#failures++, { initial: 500, max: 15_000, random });
        this.#retryAt = clock.now() + delay;
        const fields = { ...podFields(this.#context.pod()), error: describeError(error) };
        logger.warn("cannot bring a pod's sandbox to where it should be", fields);
      }
    }
    // Until a list shows what was made, another look would make it again.
    await view.refresh();
    this.#isBusy = false;
    wake();
  }
}
