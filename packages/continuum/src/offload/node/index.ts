export * from "./errors.ts";
export { forgeFacts, forgeIdentity, type NodeInputs } from "./forge-node.ts";
export { hasGivenLabels, LABELS_ANNOTATION } from "./given-labels.ts";
export { KnownVirtualNodes } from "./known-virtual-nodes.ts";
export { NodeCertificates, type NodeCertificatesOptions } from "./node-certificates.ts";
export { CORDONED_ANNOTATION } from "./node-changes.ts";
export { judge, type Readiness } from "./readiness.ts";
export { RemoteBackend, type RemoteBackendOptions } from "./remote-backend.ts";
export { VirtualNodeController, type VirtualNodeControllerOptions } from "./virtual-node-controller.ts";
