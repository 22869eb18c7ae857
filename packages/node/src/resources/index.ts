export * from "./errors.ts";
export * from "./quantity.ts";
