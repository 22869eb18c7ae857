export type { ActiveFault, Fault, FaultOptions, RequestMatch } from "./fault.ts";
export { FaultServer, type FaultServerOptions, type NewObject } from "./fault-server.ts";
export type { RequestLog, RequestRecord, Verb } from "./request-log.ts";
export type { Change, RevisionStore, Snapshot } from "./revision-store.ts";
export type { Break } from "./watch-connection.ts";
