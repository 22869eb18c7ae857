export * from "./cache/heap-used.ts";
