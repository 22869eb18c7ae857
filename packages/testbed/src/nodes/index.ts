export { type ImageRequest, imageNames } from "./images.ts";
export { maxNodes, type NodePlan } from "./network-plan.ts";
export { type NodeProcess, RealNode } from "./node.ts";
export { RealNodes, type RealNodesOptions } from "./real-nodes.ts";
export type { TarEntry } from "./tar.ts";
