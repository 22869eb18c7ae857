import { defineError } from "@fjord/base";

export const InvalidNodeOption = defineError(
  "INVALID_NODE_OPTION",
  "{option} {value}: {reason}",
  "`--help` after the command shows what each option takes.",
);

export const NoRuntime = defineError(
  "NO_RUNTIME",
  "cannot choose a runtime for pods: {reason}",
  "Give --runtime process to run pods as plain processes, or --cri SOCKET of a container runtime.",
);

export const RuntimeInUse = defineError(
  "RUNTIME_IN_USE",
  "cannot run pods by the container runtime at {socket}: another node on this machine does",
  "Stop the other node, or give each node a container runtime of its own: they would end each other's pods.",
);

export const NotANode = defineError(
  "NOT_A_NODE",
  "{directory} was not made by a node: there is no node.db in it",
  "Give the --state-dir that the node was run with; nothing was removed.",
);
