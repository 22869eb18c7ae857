import type { KubeClient, Pod } from "@fjord/kube";
import { Pod as PodKind } from "@fjord/kube";

/** What a user who watches the pods of a namespace sees, and when. */
export class PodWatch implements AsyncDisposable {
  readonly scheduled = new Map<string, number>();
  readonly ready = new Map<string, number>();
  readonly #present = new Set<string>();
  readonly #readyNow = new Set<string>();
  readonly #stop = new AbortController();
  readonly #run: Promise<void>;
  #wake: () => void = () => {};

  constructor(client: KubeClient, namespace: string) {
    this.#run = this.#follow(client, namespace);
  }

  /** Resolves with the moment at which so many pods were Ready together. */
  async untilReady(count: number, signal: AbortSignal): Promise<number> {
    return this.#until(() => this.#readyNow.size >= count, signal);
  }

  async untilGone(signal: AbortSignal): Promise<number> {
    return this.#until(() => this.#present.size === 0, signal);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stop.abort();
    await this.#run;
  }

  async #until(isSo: () => boolean, signal: AbortSignal): Promise<number> {
    while (!isSo()) {
      signal.throwIfAborted();
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
        setTimeout(resolve, 1_000).unref();
      });
    }
    return performance.now();
  }

  async #follow(client: KubeClient, namespace: string): Promise<void> {
    const { signal } = this.#stop;
    let resourceVersion: string | undefined;
    while (!signal.aborted) {
      try {
        if (resourceVersion === undefined) {
          const list = await client.list(PodKind, { namespace, signal, omitManagedFields: true });
          resourceVersion = list.metadata.resourceVersion ?? "0";
          for (const pod of list.items) this.#see(pod);
        }
        for await (const event of client.watch(PodKind, { namespace, resourceVersion, signal })) {
          resourceVersion = event.object.metadata.resourceVersion;
          if (event.type === "DELETED") this.#gone(event.object);
          else if (event.type !== "BOOKMARK") this.#see(event.object);
        }
      } catch (error) {
        if (signal.aborted) return;
        if (resourceVersion === undefined) throw error;
        // The server has ended the watch, as it may: what was missed is listed.
        resourceVersion = undefined;
      }
    }
  }

  #see({ metadata, spec, status }: Pod): void {
    const name = metadata.name ?? "";
    const now = performance.now();
    this.#present.add(name);
    if (spec?.nodeName && !this.scheduled.has(name)) this.scheduled.set(name, now);
    const isReady =
      status?.conditions?.some(({ type, status: value }) => type === "Ready" && value === "True") ?? false;
    if (isReady && !this.ready.has(name)) this.ready.set(name, now);
    if (isReady) this.#readyNow.add(name);
    this.#wake();
  }

  #gone({ metadata }: Pod): void {
    this.#present.delete(metadata.name ?? "");
    this.#readyNow.delete(metadata.name ?? "");
    this.#wake();
  }
}
