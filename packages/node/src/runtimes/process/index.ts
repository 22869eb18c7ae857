export { PodRange, type PodRangeOptions } from "./pod-range.ts";
export { ProcessRuntime, type ProcessRuntimeOptions } from "./process-runtime.ts";
