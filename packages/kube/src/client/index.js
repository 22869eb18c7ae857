export * from "./api-error.ts";
export { KubeClient } from "./client.ts";
export { InvalidAddress } from "./errors.ts";
export { listPages } from "./list-pages.ts";
export { collectionPath, describeTarget, groupVersionPath, objectPath, queryString } from "./resource-path.ts";
