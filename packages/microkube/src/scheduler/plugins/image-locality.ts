import type { ScorePlugin } from "../plugin.ts";

const MiB = 1024 * 1024;
const LEAST = 23 * MiB;
const MOST_PER_CONTAINER = 1000 * MiB;

/** Nodes that have the images already are better, images that all nodes have aside. */
export const imageLocality: ScorePlugin = {
  name: "ImageLocality",
  weight: 1,
  scale: "as-is",
  prepare({ pod }, { nodes }) {
    const containers = [...(pod.spec?.initContainers ?? []), ...(pod.spec?.containers ?? [])];
    const images = containers.map(({ image = "" }) => fullName(image));
    const spread = new Map(
      images.map((image) => [image, nodes.filter((node) => node.images.has(image)).length / nodes.length]),
    );
    if (spread.values().every((share) => share === 0)) return undefined;
    const most = MOST_PER_CONTAINER * containers.length;
    return (node) => {
      const sum = images.reduce((all, image) => all + (node.images.get(image) ?? 0) * (spread.get(image) ?? 0), 0);
      return (100 * (Math.min(Math.max(sum, LEAST), most) - LEAST)) / (most - LEAST);
    };
  },
};

function fullName(image: string): string {
  return image.lastIndexOf(":") <= image.lastIndexOf("/") ? `${image}:latest` : image;
}
