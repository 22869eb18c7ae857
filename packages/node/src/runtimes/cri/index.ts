export { CriRuntime, type CriRuntimeOptions } from "./cri-runtime.ts";
export * from "./errors.ts";
export { openCriRuntime } from "./open-cri-runtime.ts";
export { type CgroupMount, cgroupMounts } from "./pod-cgroups.ts";
