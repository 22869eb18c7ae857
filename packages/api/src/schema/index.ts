export * from "./containers.ts";
export * from "./fill-defaults.ts";
export * from "./formats.ts";
export * from "./scalars.ts";
export * from "./schema.ts";
export * from "./structural.ts";
