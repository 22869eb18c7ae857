export * from "./api-error.ts";
export { KubeClient, type KubeClientOptions, type RawOptions } from "./client.ts";
export { EndlessList, InvalidAddress } from "./errors.ts";
export type * from "./interfaces.ts";
export { listPages } from "./list-pages.ts";
export type { SubresourceOptions } from "./object-client.ts";
export type { LogOptions } from "./pod-log.ts";
export { collectionPath, describeTarget, groupVersionPath, objectPath, queryString } from "./resource-path.ts";
export type * from "./subresources.ts";
