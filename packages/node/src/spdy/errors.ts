import { defineError } from "@fjord/base";

export const SpdyProtocol = defineError(
  "SPDY_PROTOCOL",
  "the other end of a stream connection broke SPDY/3.1: {problem}",
  "The connection was closed. Check what stands between the two ends; nothing but Kubernetes' own streams belongs there.",
);

export const SpdyStreamReset = defineError(
  "SPDY_STREAM_RESET",
  "the other end gave up stream {id} with status {status}",
  "It has gone, or does not want what the stream carries; look at its own messages.",
);

export const SpdyConnectionClosed = defineError(
  "SPDY_CONNECTION_CLOSED",
  "the stream connection has ended: {reason}",
  "Nothing more can be sent over it; whoever needs it opens another.",
);
