export { ByteStream } from "./byte-stream.ts";
export type { Connect, Dial } from "./dial.ts";
export { ConnectionError, InvalidServerUrl, ProxyRefused, TransportClosed, UnusableCertificate } from "./errors.ts";
export type { StreamResponse } from "./exchange.ts";
export type { HttpHeaders, HttpMethod, HttpRequest, HttpResponse, StreamRequest } from "./http.ts";
export { readAsStream } from "./read-as-stream.ts";
export { endWhenSilent, type PingTimes } from "./session-pings.ts";
export { Transport, type TransportOptions } from "./transport.ts";
