export { addressTowards } from "../machine/node-address.ts";
export { ClientCertificate, type ClientCertificateOptions } from "./client-certificate.ts";
export * from "./errors.ts";
export { type BootstrapOptions, type JoinedCluster, type JoinOptions, joinCluster } from "./join-cluster.ts";
export { kubeletVersion } from "./kubelet-version.ts";
export { NodeEvents } from "./node-events.ts";
export * from "./node-facts.ts";
export { nodeImages } from "./node-images.ts";
export { architectureOf, checkNodeLabel } from "./node-labels.ts";
export { LEASE_NAMESPACE, NodeLease, type NodeLeaseOptions } from "./node-lease.ts";
export {
  forgeNode,
  forgeStatus,
  LOOPBACK_RANGE_ANNOTATION,
  MACHINE_ANNOTATION,
  metadataPatch,
  STAND_IN_RANGE_ANNOTATION,
  statusPatch,
} from "./node-object.ts";
export { NodeRegistration, type NodeRegistrationOptions } from "./node-registration.ts";
export { type CertificatePair, PkiDirectory } from "./pki-directory.ts";
export { ServingCertificate, type ServingCertificateOptions } from "./serving-certificate.ts";
export { requestCertificate, type SigningOptions } from "./signing-request.ts";
export { type LabelFacts, standardLabels } from "./standard-labels.ts";
export { parseTaint, type Taint } from "./taints.ts";
export {
  type AlternativeNames,
  type CertificateSubject,
  certificateRequest,
  generateKey,
  selfSignedCertificate,
} from "./x509.ts";
