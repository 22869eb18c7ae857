export * from "./build-summary.ts";
export * from "./errors.ts";
export * from "./eviction/index.ts";
export * from "./images/index.ts";
export * from "./machine-capacity.ts";
export * from "./machine-info.ts";
export * from "./machine-usage.ts";
export { addressTowards } from "./node-address.ts";
export { UsageHistory } from "./usage-history.ts";
