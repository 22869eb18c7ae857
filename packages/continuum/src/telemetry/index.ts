export * from "./errors.ts";
export { GuestUsage, type GuestUsageOptions } from "./guest-usage.ts";
export { OwnApi, type OwnApiOptions } from "./own-api.ts";
export { RemoteUsage, type RemoteUsageOptions } from "./remote-usage.ts";
export type { ContainerUsage, PodUsage, UsagePage } from "./usage.ts";
