export type * from "../offloaded-pods.ts";
export type * from "../twins.ts";
export type * from "../virtual-nodes.ts";
export * from "./admission/index.ts";
export * from "./guest/index.ts";
export * from "./namespace/index.ts";
export * from "./node/index.ts";
export * from "./pod/index.ts";
