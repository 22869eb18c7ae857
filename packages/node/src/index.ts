export { NodeAgent, type NodeAgentOptions } from "./agent/node-agent.ts";
export { PodManager, type PodManagerOptions } from "./pod/pod-manager.ts";
export * from "./runtime/index.ts";
export type * from "./stream/command-streams.ts";
