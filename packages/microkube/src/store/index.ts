export * from "./sqlite-store.ts";
export * from "./store.ts";
