import { defineError } from "@fjord/base";

export const InvalidNodeOption = defineError(
  "INVALID_NODE_OPTION",
  "{option} {value}: {reason}",
  "`fjord-node run --help` shows what each option takes.",
);

export const NoRuntime = defineError(
  "NO_RUNTIME",
  "cannot choose a runtime for pods: {reason}",
  "Give --runtime process to run pods as plain processes, or --cri SOCKET of a container runtime.",
);
