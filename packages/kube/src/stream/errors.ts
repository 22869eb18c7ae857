import { defineError } from "@fjord/base";

export const StreamProtocol = defineError(
  "KUBE_STREAM_PROTOCOL",
  "cannot {action} at {server}: {problem}",
  "The other end does not speak Kubernetes' channel protocols as expected; check what stands between it and you.",
);

export const PortForwardFailed = defineError(
  "KUBE_PORT_FORWARD",
  "cannot {action}: {reason}",
  "Check that something in the pod listens on that port, on all addresses or on localhost.",
);

export const OutputClosed = defineError(
  "KUBE_STREAM_OUTPUT_CLOSED",
  "cannot {action}: {what} was closed before the command ended",
  "Keep the stream open until the call has resolved.",
);
