export { Reflection, type ReflectionOptions } from "./engine/reflection.ts";
export { noCounters, type ReflectionCounters } from "./engine/reflection-counters.ts";
export { CLASS_ANNOTATION } from "./kinds/remote-class.ts";
export type { ReflectedKind, ReflectionPolicy, TwinContext } from "./reflected-kind.ts";
