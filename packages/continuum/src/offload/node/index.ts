export * from "./errors.ts";
export { forgeFacts, forgeIdentity, type NodeInputs, type Readiness, readinessOf } from "./forge-node.ts";
export { KnownVirtualNodes } from "./known-virtual-nodes.ts";
export { RemoteBackend, type RemoteBackendOptions } from "./remote-backend.ts";
export { VirtualNodeController, type VirtualNodeControllerOptions } from "./virtual-node-controller.ts";
