export { type ImageRequest, imageNames } from "./images.ts";
export { type Kubelet, kubelets } from "./kubelet-command.ts";
export { fileEntry, linkedProgram } from "./linked-program.ts";
export { type MetricsServerOptions, startMetricsServer } from "./metrics-server.ts";
export { maxNodes, type NodePlan } from "./network-plan.ts";
export { RealNode } from "./node.ts";
export type { NodeProcess } from "./node-processes.ts";
export { RealNodes, type RealNodesOptions } from "./real-nodes.ts";
export type { TarEntry } from "./tar.ts";
