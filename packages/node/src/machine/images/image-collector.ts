import { type Clock, describeError, type Logger, type Random, sleep } from "@fjord/base";
import type { ImageStore } from "../../runtime/images.ts";
import type { Runtime } from "../../runtime/runtime.ts";
import type { FileSystemUsage } from "../machine-usage.ts";
import { bytesOverThreshold, chooseImages, isAmong } from "./choose-images.ts";

export interface ImageCollectorOptions {
  readonly runtime: Pick<Runtime, "list"> & { readonly images: ImageStore };
  /** Of the file system that images are on. */
  readonly usage: (mountpoint: string) => Promise<FileSystemUsage>;
  /** Names of images to keep whatever happens, such as that of the sandboxes. */
  readonly keep?: readonly string[];
  /** Percent of the disk that may be full before images go. @default 85 */
  readonly highPercent?: number;
  /** Percent that should be full afterwards. @default 80 */
  readonly lowPercent?: number;
  /** @default 120000 */
  readonly minAgeMs?: number;
  /** Unused images that are older go in any case. @default never */
  readonly maxAgeMs?: number;
  /** @default 300000 */
  readonly intervalMs?: number;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
}

/** Removes images that nobody uses when the disk fills up. */
export class ImageCollector {
  readonly #options: Required<ImageCollectorOptions>;
  readonly #lastUsed = new Map<string, number>();

  constructor(options: ImageCollectorOptions) {
    this.#options = {
      keep: [],
      highPercent: 85,
      lowPercent: 80,
      minAgeMs: 120_000,
      maxAgeMs: Number.POSITIVE_INFINITY,
      intervalMs: 300_000,
      ...options,
    };
  }

  async run(signal: AbortSignal): Promise<void> {
    const { clock, random, logger, intervalMs } = this.#options;
    while (!signal.aborted) {
      try {
        await this.collect(signal);
      } catch (error) {
        if (!signal.aborted) logger.warn("cannot collect unused images", { error: describeError(error) });
      }
      await sleep(clock, intervalMs * (0.9 + 0.2 * random()), signal);
    }
  }

  /** Frees what is over the threshold, and what is too old; gives the number of bytes. */
  async collect(signal?: AbortSignal): Promise<number> {
    const { runtime, usage, highPercent: high, lowPercent: low, maxAgeMs, minAgeMs } = this.#options;
    const { mountpoint } = await runtime.images.fileSystem(signal);
    const over = bytesOverThreshold(await usage(mountpoint), { high, low });
    const freed = maxAgeMs < Number.POSITIVE_INFINITY ? await this.#free(Infinity, maxAgeMs, signal) : 0;
    return freed + (await this.#free(over - freed, minAgeMs, signal));
  }

  /** Frees all that nobody uses: for a node whose disk is about to be full. */
  async collectAll(signal?: AbortSignal): Promise<number> {
    return this.#free(Number.POSITIVE_INFINITY, this.#options.minAgeMs, signal);
  }

  async #free(bytesToFree: number, minAgeMs: number, signal?: AbortSignal): Promise<number> {
    const { runtime, clock, keep, logger } = this.#options;
    const [images, sandboxes] = await Promise.all([runtime.images.list(signal), runtime.list(signal)]);
    const inUse = new Set(
      sandboxes.flatMap(({ containers }) => containers.flatMap(({ image, imageId }) => [image, imageId])),
    );
    this.#note(images, inUse);
    if (bytesToFree <= 0) return 0;
    const now = clock.now();
    const choice = { images, inUse, keep: new Set(keep), lastUsed: this.#lastUsed, now, minAgeMs, bytesToFree };
    let freed = 0;
    for (const image of chooseImages(choice)) {
      try {
        await runtime.images.remove(image.id, signal);
        freed += image.size;
        logger.info("removed an unused image", { image: image.tags[0] ?? image.id, bytes: image.size });
      } catch (error) {
        // Somebody may have begun to use it; the others are not affected.
        logger.warn("cannot remove an unused image", { image: image.id, error: describeError(error) });
      }
    }
    if (freed < bytesToFree && Number.isFinite(bytesToFree))
      logger.warn("too few unused images to free the disk", { wanted: bytesToFree, freed });
    return freed;
  }

  /** An image counts as used when it is first seen, and whenever a container has it. */
  #note(images: Awaited<ReturnType<ImageStore["list"]>>, inUse: ReadonlySet<string>): void {
    const now = this.#options.clock.now();
    const present = new Set(images.map(({ id }) => id));
    for (const id of this.#lastUsed.keys()) if (!present.has(id)) this.#lastUsed.delete(id);
    for (const image of images) {
      if (!this.#lastUsed.has(image.id) || isAmong(image, inUse)) this.#lastUsed.set(image.id, now);
    }
  }
}
