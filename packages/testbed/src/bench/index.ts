export * from "./benchmark.ts";
export * from "./fresh-process.ts";
export * from "./record.ts";
export * from "./report.ts";
