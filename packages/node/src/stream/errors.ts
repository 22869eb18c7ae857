import { defineError } from "@fjord/base";

export const StreamRefused = defineError(
  "STREAM_REFUSED",
  "cannot {action}: {server} answered {status} {text}",
  "The text comes from the other end, most often the container runtime: look there for the reason.",
);

export const StreamUnreachable = defineError(
  "STREAM_UNREACHABLE",
  "cannot {action}: {server} does not answer: {reason}",
  "Check that what serves the streams, most often the container runtime, is running.",
);

export const StreamCut = defineError(
  "STREAM_CUT",
  "cannot {action}: {server} ended the connection before it told how it went",
  "The other end was stopped or crashed meanwhile; try again, and look at its own messages.",
);

export const PortUnreachable = defineError(
  "PORT_UNREACHABLE",
  "cannot {action}: {reason}",
  "Check that something in the pod listens on that port, on all addresses or on localhost.",
);

export const StreamsMissing = defineError(
  "STREAMS_MISSING",
  "the client did not open the streams that it had asked for: {missing}",
  "The client went away, or does not speak Kubernetes' protocols as expected.",
);
