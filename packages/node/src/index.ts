export * from "./runtime/index.ts";
