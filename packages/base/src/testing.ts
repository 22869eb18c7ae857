export * from "./heap-used.ts";
export * from "./manual-clock.ts";
