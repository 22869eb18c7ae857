import { Backoff, describeError, sleep } from "@fjord/base";
import type { RuntimeContainer } from "../../runtime/index.ts";
import type { PodAction } from "../plan/pod-plan.ts";
import { podFields } from "../pod-containers.ts";
import { type Say, sayer, type WorkerContext } from "./pod-services.ts";

/** Runs first, and counts against the time that the container has. */
export type BeforeStop = (container: RuntimeContainer, signal: AbortSignal) => Promise<void>;

export type StopAction = Extract<PodAction, { do: "stop" }>;

/** After its hook a container still gets so long, unless it was to have no time at all. */
const LEAST_GRACE_SECONDS = 2;

/** Stops the containers of one pod, each in its own time. */
export class ContainerStopper {
  readonly #context: WorkerContext;
  readonly #say: Say;
  readonly #beforeStop: BeforeStop;
  readonly #stops = new Map<string, { killAt: number; readonly controller: AbortController }>();

  constructor(context: WorkerContext, beforeStop: BeforeStop) {
    this.#context = context;
    this.#say = sayer(context, context.pod);
    this.#beforeStop = beforeStop;
  }

  /** Ids of those under way, with the time at which each is killed. */
  stopping(): Map<string, number> {
    return new Map([...this.#stops].map(([id, { killAt }]) => [id, killAt]));
  }

  /** Stops a container. One that is being stopped already has less time from now on. */
  stop(action: StopAction): void {
    const { container, graceSeconds, message } = action;
    const earlier = this.#stops.get(container.id);
    earlier?.controller.abort();
    if (earlier === undefined) this.#say("Normal", "Killing", message, container.name);
    const controller = new AbortController();
    const killAt = this.#context.clock.now() + graceSeconds * 1000;
    this.#stops.set(container.id, { killAt, controller });
    void this.#stop(container, graceSeconds, earlier === undefined, controller.signal).then(() => {
      if (this.#stops.get(container.id)?.controller !== controller) return;
      this.#stops.delete(container.id);
      this.#context.wake();
    });
  }

  async #stop(container: RuntimeContainer, graceSeconds: number, isFirst: boolean, own: AbortSignal): Promise<void> {
    const { clock, random, logger, view } = this.#context;
    const signal = AbortSignal.any([own, this.#context.signal]);
    const began = clock.now();
    if (isFirst && graceSeconds > 0) await this.#hook(container, graceSeconds, signal);
    const backoff = new Backoff({ initial: 500, max: 10_000, random });
    while (!signal.aborted) {
      const left = graceSeconds - Math.floor((clock.now() - began) / 1000);
      try {
        await view.runtime.stopContainer(
          container.id,
          Math.max(left, Math.min(graceSeconds, LEAST_GRACE_SECONDS)),
          signal,
        );
        break;
      } catch (error) {
        if (signal.aborted) return;
        const note = { ...podFields(this.#context.pod()), container: container.name, error: describeError(error) };
        logger.warn("cannot stop a container, trying again", note);
        if (backoff.failures === 0) this.#say("Warning", "FailedKillPod", `error killing pod: ${note.error}`);
        await sleep(clock, backoff.next(), signal);
      }
    }
    if (!signal.aborted) await view.refresh();
  }

  async #hook(container: RuntimeContainer, graceSeconds: number, signal: AbortSignal): Promise<void> {
    const over = new AbortController();
    const cancel = this.#context.clock.after(graceSeconds * 1000, () => over.abort());
    await this.#beforeStop(container, AbortSignal.any([signal, over.signal]));
    cancel();
  }
}
