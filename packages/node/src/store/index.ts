export * from "./errors.ts";
export { NodeStore, type StoredKey } from "./node-store.ts";
export type { DatabaseOptions } from "./open-database.ts";
