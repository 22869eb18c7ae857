export * from "./errors.ts";
export type { SpdyHeaders } from "./headers.ts";
export { SpdyConnection } from "./spdy-connection.ts";
export type { SpdyLimits, SpdyOptions } from "./spdy-options.ts";
export { SpdyStream } from "./spdy-stream.ts";
