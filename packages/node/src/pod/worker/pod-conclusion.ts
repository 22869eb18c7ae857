import { backoffDelay, describeError } from "@fjord/base";
import { cgroupParent } from "../../resources/cgroup-parent.ts";
import type { RuntimeContainer } from "../../runtime/index.ts";
import type { ObservedPod } from "../observed-pod.ts";
import { podFields, uidOf } from "../pod-containers.ts";
import { removeFilesOf, removeLogs } from "./pod-files.ts";
import type { WorkerContext } from "./pod-services.ts";

interface Removal {
  readonly isBusy: boolean;
  readonly failures: number;
  readonly retryAt: number;
}

/** What is to be done once nothing of a pod runs any more: how far depends on whether the API still wants it. */
export class PodConclusion {
  readonly #context: WorkerContext;
  readonly #onGone: () => void;
  /** Containers that are being removed, and those that could not be. */
  readonly #removals = new Map<string, Removal>();
  #hasVolumes = true;
  #isBusy = false;
  #isFinished = false;
  #isGone = false;
  #failures = 0;
  #retryAt = 0;

  constructor(context: WorkerContext, onGone: () => void) {
    this.#context = context;
    this.#onGone = onGone;
  }

  /** Takes the next step, if there is one. */
  look(ended: boolean, isGone: boolean, isWritten: boolean, observed: ObservedPod): void {
    const { clock, wakeAt } = this.#context;
    if (!ended || this.#isBusy || this.#isGone) return;
    if (this.#retryAt > clock.now()) {
      wakeAt(this.#retryAt);
      return;
    }
    const isDeleted = this.#context.pod().metadata.deletionTimestamp !== undefined;
    // Sandboxes know how their containers ended: they stay until the API knows it too.
    const mayRemove = isGone || (isDeleted && isWritten && !this.#isFinished);
    if (this.#hasVolumes || mayRemove) void this.#conclude(mayRemove, isGone, observed);
  }

  async #conclude(mayRemove: boolean, isGone: boolean, observed: ObservedPod): Promise<void> {
    const { volumes, view, signal, statuses, clock, random, logger, wake, wakeAt } = this.#context;
    const pod = this.#context.pod();
    this.#isBusy = true;
    try {
      await volumes.remove(uidOf(pod));
      this.#hasVolumes = false;
      if (mayRemove) {
        for (const { id } of observed.sandboxes) {
          await view.runtime.stopSandbox(id, signal);
          await view.runtime.removeSandbox(id, signal);
        }
      }
      if (isGone) await this.#leave();
      else if (mayRemove) {
        this.#isFinished = true;
        statuses.finish(pod);
      }
      this.#failures = 0;
    } catch (error) {
      if (signal.aborted) return;
      const delay = backoffDelay(this.#failures++, { initial: 500, max: 15_000, random });
      this.#retryAt = clock.now() + delay;
      wakeAt(this.#retryAt);
      logger.warn("cannot clear up after a pod, trying again", { ...podFields(pod), error: describeError(error) });
    } finally {
      this.#isBusy = false;
    }
    if (!this.#isGone) wake();
  }

  async #leave(): Promise<void> {
    const { settings, objects, statuses, view, signal } = this.#context;
    const pod = this.#context.pod();
    await view.runtime.clearGroup?.(cgroupParent(pod, settings.cgroupRoot), signal);
    await removeFilesOf(settings.stateDirectory, pod);
    objects.forget(uidOf(pod));
    statuses.forget(uidOf(pod));
    this.#isGone = true;
    this.#onGone();
  }

  /** Removes a container that has ended, and its log. */
  removeContainer(container: RuntimeContainer): void {
    const { clock, wakeAt } = this.#context;
    const before = this.#removals.get(container.id);
    if (before?.isBusy) return;
    if (before !== undefined && before.retryAt > clock.now()) wakeAt(before.retryAt);
    else void this.#remove(container, before?.failures ?? 0);
  }

  async #remove({ id, name, logFile }: RuntimeContainer, failures: number): Promise<void> {
    const { view, signal, clock, random, logger, wake } = this.#context;
    this.#removals.set(id, { isBusy: true, failures, retryAt: 0 });
    let retryAt: number | undefined;
    try {
      await view.runtime.removeContainer(id, signal);
      await removeLogs(logFile);
    } catch (error) {
      retryAt = clock.now() + backoffDelay(failures, { initial: 500, max: 60_000, random });
      const note = { ...podFields(this.#context.pod()), container: name, error: describeError(error) };
      if (!signal.aborted) logger.warn("cannot remove a container", note);
    }
    await view.refresh();
    if (retryAt === undefined) this.#removals.delete(id);
    else this.#removals.set(id, { isBusy: false, failures: failures + 1, retryAt });
    wake();
  }
}
