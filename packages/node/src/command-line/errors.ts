import { defineError } from "@fjord/base";

export const InvalidNodeOption = defineError(
  "INVALID_NODE_OPTION",
  "{option} {value}: {reason}",
  "`fjord-node run --help` shows what each option takes.",
);

export const NoWayToJoin = defineError(
  "NO_WAY_TO_JOIN",
  "cannot join a cluster: neither a kubeconfig nor a bootstrap token is given, and {file} is not there from an earlier run",
  "Give --kubeconfig FILE, or --server URL --ca FILE --bootstrap-token TOKEN.",
);

export const NoRuntime = defineError(
  "NO_RUNTIME",
  "cannot choose a runtime for pods: {reason}",
  "Give --runtime process to run pods as plain processes, or --cri SOCKET of a container runtime.",
);
