export * from "./benchmark.ts";
export { buildProgram } from "./build-program.ts";
export * from "./fresh-process.ts";
export { cpuSeconds } from "./process-usage.ts";
export * from "./record.ts";
export * from "./report.ts";
