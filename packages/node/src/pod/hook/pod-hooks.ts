import { describeError, onAbort } from "@fjord/base";
import type { RuntimeContainer } from "../../runtime/index.ts";
import type { Unwell } from "../plan/plan-input.ts";
import { containerOf, type LifecycleHandler, type PodContainer, podFields } from "../pod-containers.ts";
import { type Say, sayer, type WorkerContext } from "../worker/pod-services.ts";
import { runHook } from "./lifecycle-hook.ts";

/** The lifecycle hooks of one pod's containers. */
export class PodHooks {
  readonly #context: WorkerContext;
  readonly #say: Say;
  readonly #unwell = new Map<string, Unwell>();

  constructor(context: WorkerContext) {
    this.#context = context;
    this.#say = sayer(context, context.pod);
  }

  /** Containers whose postStart hook has failed. */
  get unwell(): ReadonlyMap<string, Unwell> {
    return this.#unwell;
  }

  /** Forgets all but these. */
  forgetOld(ids: ReadonlySet<string>): void {
    for (const id of this.#unwell.keys()) if (!ids.has(id)) this.#unwell.delete(id);
  }

  async afterStart(container: PodContainer, id: string, signal: AbortSignal): Promise<void> {
    const hook = container.spec.lifecycle?.postStart;
    if (hook === undefined) return;
    try {
      await this.#run(hook, container, id, signal);
    } catch (error) {
      if (signal.aborted) return;
      this.#fail("FailedPostStartHook", "PostStartHook failed", container.name, error);
      this.#unwell.set(id, { message: "FailedPostStartHook" });
    }
  }

  async beforeStop({ name, id }: RuntimeContainer, signal: AbortSignal): Promise<void> {
    const container = containerOf(this.#context.pod(), name);
    const hook = container?.spec.lifecycle?.preStop;
    if (container === undefined || hook === undefined) return;
    while (true) {
      try {
        return await this.#run(hook, container, id, signal);
      } catch (error) {
        if (this.#context.signal.aborted) return;
        if (hook.exec !== undefined && (await this.#hasReturned(signal))) continue;
        return this.#fail("FailedPreStopHook", "PreStopHook failed", name, error);
      }
    }
  }

  /** Where the runtime is away, waits for it, and tells whether there is time left: its absence is not the hook's fault. */
  async #hasReturned(signal: AbortSignal): Promise<boolean> {
    const { view } = this.#context;
    try {
      await view.runtime.health(signal);
      return false;
    } catch {
      // The view says in the log why it cannot list.
      const over = new Promise<void>((resolve) => onAbort(signal, resolve));
      await Promise.race([view.refresh(), over]);
      return !signal.aborted;
    }
  }

  async #run(hook: LifecycleHandler, container: PodContainer, id: string, signal: AbortSignal): Promise<void> {
    const { view, facts, clock } = this.#context;
    const podIP = facts().podIPs[0] ?? "";
    await runHook(hook, { runtime: view.runtime, id, spec: container.spec, podIP, clock }, signal);
  }

  #fail(reason: string, message: string, container: string, error: unknown): void {
    const { logger, pod } = this.#context;
    this.#say("Warning", reason, message, container);
    logger.info("a lifecycle hook failed", { ...podFields(pod()), container, error: describeError(error) });
  }
}
