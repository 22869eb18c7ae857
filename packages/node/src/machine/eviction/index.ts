export * from "./errors.ts";
export { EvictionManager, type EvictionManagerOptions, evictionMessage } from "./eviction-manager.ts";
export { observationsOf } from "./observations.ts";
export { type Pressure, pressureConditions } from "./pressure.ts";
export { isCritical, type PodUsage, rankForEviction } from "./rank.ts";
export { exceededStorage } from "./storage-limits.ts";
export { defaultHardThresholds, parseThresholds, type Signal, type Threshold } from "./thresholds.ts";
