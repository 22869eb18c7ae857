export * from "./errors.ts";
export type { SpdyHeaders } from "./headers.ts";
export { SpdyConnection, type SpdyLimits, type SpdyOptions } from "./spdy-connection.ts";
export { SpdyStream } from "./spdy-stream.ts";
