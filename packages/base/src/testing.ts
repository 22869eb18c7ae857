export * from "./manual-clock.ts";
