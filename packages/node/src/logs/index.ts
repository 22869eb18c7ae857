export * from "./errors.ts";
export { formatRecord, type LogRecord, parseRecord } from "./log-record.ts";
export { LogRotator, type LogRotatorOptions, type RotatedLog, removeLog } from "./log-rotator.ts";
export { type ReadLogOptions, readLog } from "./read-log.ts";
