export * from "./cache/index.ts";
export * from "./client/index.ts";
export * from "./config/index.ts";
export * from "./controller/index.ts";
export * from "./discovery/index.ts";
export * from "./kinds/index.ts";
export * from "./stream/index.ts";
export * from "./transport/index.ts";
