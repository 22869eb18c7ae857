export { type LocatedContainer, PodManager, type PodManagerOptions } from "./pod-manager.ts";
export type { DnsSettings, PodSettings } from "./pod-settings.ts";
export { StatusWriter, type StatusWriterOptions } from "./status/status-writer.ts";
