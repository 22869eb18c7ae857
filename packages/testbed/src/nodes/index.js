export { imageNames } from "./images.ts";
export { maxNodes } from "./network-plan.ts";
export { RealNode } from "./node.ts";
export { RealNodes } from "./real-nodes.ts";
