import type { ImageStatus } from "../../runtime/images.ts";

export interface ImageChoice {
  readonly images: readonly ImageStatus[];
  /** Names and ids of images that containers have; never chosen. */
  readonly inUse: ReadonlySet<string>;
  /** Names of images to keep whatever happens, such as that of the sandboxes. */
  readonly keep: ReadonlySet<string>;
  /** By id, in milliseconds. */
  readonly lastUsed: ReadonlyMap<string, number>;
  readonly now: number;
  /** One that was seen or used more recently is left alone: a pod may be about to use it. */
  readonly minAgeMs: number;
  readonly bytesToFree: number;
}

/** Which unused images to remove, the longest unused first, until enough is free. */
export function chooseImages(choice: ImageChoice): ImageStatus[] {
  const { images, lastUsed, now, minAgeMs, bytesToFree } = choice;
  const candidates = images
    .filter((image) => !image.pinned && !isAmong(image, choice.inUse) && !isAmong(image, choice.keep))
    .map((image) => ({ image, used: lastUsed.get(image.id) ?? now }))
    .filter(({ used }) => now - used >= minAgeMs)
    .sort((a, b) => a.used - b.used || b.image.size - a.image.size);
  const chosen: ImageStatus[] = [];
  let freed = 0;
  for (const { image } of candidates) {
    if (freed >= bytesToFree) break;
    chosen.push(image);
    freed += image.size;
  }
  return chosen;
}

/** Whether an image is meant by any of these words: its id, a tag, or a digest. */
export function isAmong({ id, tags, digests }: ImageStatus, names: ReadonlySet<string>): boolean {
  return [id, ...tags, ...digests].some((name) => names.has(name));
}

/** How much has to go so that usage falls to `low` percent, once it has reached `high`. */
export function bytesOverThreshold(
  { usedBytes, capacityBytes }: { usedBytes: number; capacityBytes: number },
  { high, low }: { high: number; low: number },
): number {
  if (capacityBytes <= 0 || (usedBytes / capacityBytes) * 100 < high) return 0;
  return Math.max(0, Math.ceil(usedBytes - (capacityBytes * low) / 100));
}
