export type * from "./configuration.ts";
export type * from "./images.ts";
export type * from "./resources.ts";
export type * from "./runtime.ts";
export type * from "./stats.ts";
