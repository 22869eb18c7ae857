import type { ImageStatus } from "../runtime/images.ts";
import type { NodeStatus } from "./node-facts.ts";

/** As many as the kubelet names: the scheduler prefers nodes that have a pod's image, but each one costs etcd. */
const MOST_IMAGES = 50;
const MOST_NAMES = 5;

/** The largest images of a machine, as the Node object names them. */
export function nodeImages(images: readonly ImageStatus[]): NonNullable<NodeStatus["images"]> {
  return images
    .toSorted((a, b) => b.size - a.size || (a.id < b.id ? -1 : 1))
    .slice(0, MOST_IMAGES)
    .map(({ digests, tags, size }) => ({ names: [...digests, ...tags].slice(0, MOST_NAMES), sizeBytes: size }))
    .filter(({ names }) => names.length > 0);
}
