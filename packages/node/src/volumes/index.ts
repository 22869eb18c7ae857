export * from "./errors.ts";
export { hostNameOf } from "./hosts-file.ts";
export * from "./local-volumes.ts";
export { type Mounter, SystemMounter, systemMounter, unmountAll } from "./mounter.ts";
export type { NodeIdentity } from "./node-affinity.ts";
export type * from "./pod-volumes.ts";
export { removeTree } from "./tree-removal.ts";
export { isLabel, volumeObjections } from "./volume-objections.ts";
export { exceededLimits, type VolumeUsage } from "./volume-usage.ts";
