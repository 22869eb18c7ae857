import { describeError, type KubeObject } from "@fjord/base";
import { type ApiError, Cache, compareResourceVersions } from "@fjord/kube";
import type { Means } from "../../home.ts";
import { type RemoteSite, remoteTiming } from "../../remote-site.ts";
import type { ReflectedKind } from "../reflected-kind.ts";
import { ListRefusal } from "./list-refusal.ts";
import { isOwnTwin, twinSelector } from "./twin-metadata.ts";
import { type Alignment, TwinWriter, type WantedTwin } from "./twin-writer.ts";

export interface RemoteTwinsOptions<T extends KubeObject> {
  readonly means: Means;
  readonly consumer: string;
  readonly site: RemoteSite;
  readonly kind: ReflectedKind<T>;
  /** Whether the own object that a twin is of is there, by the API's own word. Asked only of kinds whose twins last. */
  readonly hasOriginal: (twin: T, signal: AbortSignal) => Promise<boolean>;
  readonly onChange: (twinNamespace: string, name: string) => void;
  readonly onSync: () => void;
  /** The site does not let them be listed: now and then while it does not. */
  readonly onRefusal: () => void;
}

/** How long a watch goes on that shows nothing. */
const REST_MS = 20_000;

/** The own twins of one kind at one site, by one watch over all of its namespaces. */
export class RemoteTwins<T extends KubeObject> {
  readonly site: RemoteSite;
  readonly #options: RemoteTwinsOptions<T>;
  readonly #cache: Cache<T>;
  readonly #writer: TwinWriter<T>;
  /** By `namespace/name`: own writes that the watch has not shown yet. */
  readonly #written = new Map<string, T>();
  readonly #stop = new AbortController();
  readonly #refusal: ListRefusal;
  #watching: AbortController | undefined;
  #run: Promise<void> = Promise.resolve();
  #cancelRest = () => {};

  constructor(options: RemoteTwinsOptions<T>) {
    this.#options = options;
    const { site, kind, consumer, means, hasOriginal } = options;
    const { clock, random, logger } = means;
    this.#refusal = new ListRefusal(clock);
    this.site = site;
    this.#writer = new TwinWriter(site.kube, kind, (object) => isOwnTwin(object, consumer, kind.marks), hasOriginal);
    this.#cache = new Cache({
      kind: kind.kind,
      client: site.kube,
      scope: { labelSelector: twinSelector(kind.marks) },
      timing: remoteTiming,
      omitManagedFields: true,
      onFailure: (error) => {
        if (this.#refusal.failed(error) && !this.hasSynced) options.onRefusal();
      },
      clock,
      random,
      logger,
    });
    const tell = ({ metadata }: T) => options.onChange(metadata.namespace ?? "", metadata.name ?? "");
    this.#cache.addHandler({
      onAdd: tell,
      onUpdate: (_, twin) => tell(twin),
      onDelete: (twin) => {
        tell(twin);
        if (this.#cache.hasSynced) this.#restLater();
      },
    });
  }

  get hasSynced(): boolean {
    return this.#cache.hasSynced;
  }

  /** Why nothing can be known of them; undefined where it can, or where nobody has said so. */
  get refusal(): ApiError | undefined {
    return this.hasSynced ? undefined : this.#refusal.answer;
  }

  list(): T[] {
    return this.#cache.list();
  }

  start(): void {
    this.#watch();
    const { means } = this.#options;
    this.#cache.waitForSync(this.#stop.signal).then(
      () => this.#options.onSync(),
      (error) =>
        means.logger.debug("a list of twins was given up", {
          kind: this.#cache.kind.kind,
          error: describeError(error),
        }),
    );
  }

  stop(): void {
    this.#cancelRest();
    this.#stop.abort();
    this.#watching?.abort();
  }

  #watch(): void {
    if (this.#watching !== undefined || this.#stop.signal.aborted) return;
    const watching = new AbortController();
    this.#watching = watching;
    this.#run = this.#run.then(() => this.#cache.run(watching.signal, () => this.#rest()));
  }

  /** A kind of which a site has no twin needs no watch: nobody else makes any. The next one that is made begins it again. */
  #rest(): void {
    if (this.#cache.size > 0 || this.#written.size > 0) return;
    this.#watching?.abort();
    this.#watching = undefined;
  }

  /** Another one may come soon after the last has gone. */
  #restLater(): void {
    this.#cancelRest();
    if (this.#cache.size > 0) return;
    this.#cancelRest = this.#options.means.clock.after(REST_MS, () => this.#rest());
  }

  /** The twin as it is known to be: what was written last, or what the watch has shown since. */
  get(namespace: string, name: string): T | undefined {
    const key = `${namespace}/${name}`;
    const shown = this.#cache.get({ namespace, name });
    const written = this.#written.get(key);
    if (written === undefined) return shown;
    const { resourceVersion = "" } = written.metadata;
    const reached = shown?.metadata.resourceVersion ?? this.#cache.health.resourceVersion ?? "0";
    if ((compareResourceVersions(reached, resourceVersion) ?? 0) < 0) return written;
    this.#written.delete(key);
    return shown;
  }

  async align(twin: T | undefined, wanted: WantedTwin | undefined, signal: AbortSignal): Promise<Alignment<T>> {
    if (wanted !== undefined) this.#watch();
    const alignment = await this.#writer.align(twin, wanted, signal);
    if (alignment.done === "Created" || alignment.done === "Patched") {
      const { namespace = "", name = "" } = alignment.twin.metadata;
      this.#written.set(`${namespace}/${name}`, alignment.twin);
      // It may have come to rest meanwhile.
      this.#watch();
    }
    if (alignment.done === "Deleted" && twin !== undefined)
      this.#written.delete(`${twin.metadata.namespace}/${twin.metadata.name}`);
    return alignment;
  }
}
