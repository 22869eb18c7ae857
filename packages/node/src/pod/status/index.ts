export { podAddresses, podStatus } from "./pod-status.ts";
export type { StatusInput } from "./status-input.ts";
export { StatusWriter, type StatusWriterOptions } from "./status-writer.ts";
