export type * from "./command-streams.ts";
export { type DialSpdyOptions, dialSpdy, type SpdyDialog } from "./dial-spdy.ts";
export * from "./errors.ts";
export { execOverSpdy } from "./spdy-command-client.ts";
export { portForwardOverSpdy } from "./spdy-port-forward-client.ts";
