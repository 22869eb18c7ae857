import { describeError } from "@fjord/base";
import { uidOf } from "../pod-containers.ts";
import { sayer, type WorkerContext } from "./pod-services.ts";

/** Brings changes of ConfigMaps, Secrets, tokens and labels into the volumes of one running pod. */
export class VolumeRefresher {
  readonly #context: WorkerContext;
  #isBusy = false;
  #isWanted = false;

  constructor(context: WorkerContext) {
    this.#context = context;
  }

  refresh(): void {
    this.#isWanted = true;
    if (!this.#isBusy) void this.#refreshWhileWanted();
  }

  async #refreshWhileWanted(): Promise<void> {
    const { volumes, pod, facts, signal, logger } = this.#context;
    this.#isBusy = true;
    while (this.#isWanted && !signal.aborted) {
      this.#isWanted = false;
      try {
        await volumes.refresh(pod(), facts(), signal);
      } catch (error) {
        if (signal.aborted) break;
        const message = describeError(error);
        sayer(this.#context, pod)("Warning", "FailedMount", message);
        logger.warn("cannot refresh the volumes of a pod", { pod: uidOf(pod()), error: message });
      }
    }
    this.#isBusy = false;
  }
}
