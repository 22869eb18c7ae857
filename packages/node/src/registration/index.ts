export * from "./errors.ts";
export * from "./node-facts.ts";
export { architectureOf, checkNodeLabel } from "./node-labels.ts";
export { LEASE_NAMESPACE, NodeLease, type NodeLeaseOptions } from "./node-lease.ts";
export { forgeNode, forgeStatus, MACHINE_ANNOTATION, metadataPatch, statusPatch } from "./node-object.ts";
export { NodeRegistration, type NodeRegistrationOptions } from "./node-registration.ts";
export { parseTaint, type Taint } from "./taints.ts";
