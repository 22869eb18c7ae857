export { ByteStream } from "./byte-stream.ts";
export { ConnectionError, InvalidServerUrl, TransportClosed } from "./errors.ts";
export { Transport } from "./transport.ts";
