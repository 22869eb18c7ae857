import { describeError } from "@fjord/base";
import { podFields } from "../pod-containers.ts";
import { sayer, type WorkerContext } from "./pod-services.ts";

/** Sees to the volumes of one pod while it runs. */
export class VolumeKeeper {
  readonly #context: WorkerContext;
  #isMade = false;
  #isRefreshing = false;
  #isWanted = false;

  constructor(context: WorkerContext) {
    this.#context = context;
  }

  /** Makes all volumes; what an earlier process of the node made is made sure of once. */
  async ensure(signal: AbortSignal): Promise<void> {
    if (this.#isMade) return;
    const { volumes, pod, facts } = this.#context;
    try {
      await volumes.ensure(pod(), facts(), signal);
      this.#isMade = true;
    } catch (error) {
      if (!signal.aborted) this.#tell(error);
      throw error;
    }
  }

  /** A new sandbox may come after a restart of the machine, which takes mounts with it. */
  async ensureAnew(signal: AbortSignal): Promise<void> {
    this.#isMade = false;
    await this.ensure(signal);
  }

  /** Brings changes of ConfigMaps, Secrets, tokens and labels into the volumes. */
  refresh(): void {
    this.#isWanted = true;
    if (!this.#isRefreshing) void this.#refreshWhileWanted();
  }

  async #refreshWhileWanted(): Promise<void> {
    const { volumes, pod, facts, signal, logger } = this.#context;
    this.#isRefreshing = true;
    while (this.#isWanted && !signal.aborted) {
      this.#isWanted = false;
      try {
        await volumes.refresh(pod(), facts(), signal);
      } catch (error) {
        if (signal.aborted) break;
        this.#tell(error);
        logger.warn("cannot refresh the volumes of a pod", { ...podFields(pod()), error: describeError(error) });
      }
    }
    this.#isRefreshing = false;
  }

  #tell(error: unknown): void {
    sayer(this.#context, this.#context.pod)("Warning", "FailedMount", describeError(error));
  }
}
