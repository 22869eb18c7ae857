import { Backoff, describeError, onAbort } from "@fjord/base";
import type { Pod } from "@fjord/kube";
import { selectsNode } from "@fjord/kube";
import type { Refusal } from "../../resources/node-ledger.ts";
import { hasBegun, isTerminal, podFields, uidOf } from "../pod-containers.ts";
import { type PodServices, sayer } from "./pod-services.ts";
import { PodWorker } from "./pod-worker.ts";
import { chooseRuntime, type RuntimeChoice, type RuntimeChooser } from "./runtime-choice.ts";

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
        if (!hasBegun(pod)) await this.#refreshLabels(pod);
        const refusal = this.#refusal(pod);
        if (refusal === undefined && !hasBegun(pod)) this.#warn(pod, choice);
        return new PodWorker({ ...this.#options, ...choice, pod, ...(refusal && { refusal }) });
      } catch (error) {
        if (signal.aborted) break;
        const message = `Failed to create pod sandbox: ${describeError(error)}`;
        sayer(this.#options, () => pod)("Warning", "FailedCreatePodSandBox", message);
        logger.warn("cannot choose a runtime for a pod", { ...podFields(pod), error: describeError(error) });
        await this.#wait(backoff.next());
      }
    }
    return undefined;
  }

  /** Why a pod that has not begun yet may not begin. */
  #refusal(pod: Pod): Refusal | undefined {
    const { ledger } = this.#options;
    if (pod.metadata.deletionTimestamp !== undefined || isTerminal(pod.status?.phase)) return undefined;
    if (hasBegun(pod)) {
      // It was asked then, and an upgrade of the node is no reason to end it.
      ledger.enter(pod);
      return undefined;
    }
    return ledger.admit(pod);
  }

  /** No pod is refused for labels that were the node's a moment ago. */
  async #refreshLabels(pod: Pod): Promise<void> {
    const { settings, refreshLabels, signal } = this.#options;
    if (settings.labels === undefined || selectsNode(pod, { name: settings.nodeName, labels: settings.labels })) return;
    await refreshLabels?.(signal);
  }

  /** Tells what the runtime and the node honour less than the pod asks for. */
  #warn(pod: Pod, { view }: RuntimeChoice): void {
    const uncounted = this.#options.ledger.uncounted(pod);
    const notes = [...(view.runtime.notes?.(pod) ?? [])];
    if (uncounted.length > 0) notes.push(`This node has no ${uncounted.join(", ")} to give, and does not count it.`);
    if (notes.length > 0) sayer(this.#options, () => pod)("Warning", "RuntimeLimited", notes.join("; "));
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
