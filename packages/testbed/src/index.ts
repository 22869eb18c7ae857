export { Bed, type BedOptions, startBed } from "./bed.ts";
export * from "./binaries/index.ts";
export { Authority, type CertificateRequest, type KeyPair } from "./certificates.ts";
export type { ManagedProcess } from "./managed-process.ts";
export type { ProcessRecord, Resource } from "./process-record.ts";
export { Registry } from "./registry.ts";
export { Site } from "./site.ts";
export { type NodeNetwork, type SiteComponents, type SiteLayout, type SitePorts, siteFiles } from "./site-layout.ts";
