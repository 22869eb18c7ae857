import { defineError } from "@fjord/base";

export const ProcessSandboxMissing = defineError(
  "PROCESS_SANDBOX_MISSING",
  "cannot {action}: the process runtime has no sandbox {id}",
  "List the sandboxes again: it was removed meanwhile, or belongs to another state directory.",
);

export const ProcessContainerMissing = defineError(
  "PROCESS_CONTAINER_MISSING",
  "cannot {action}: the process runtime has no container {id}",
  "List the containers again: it was removed meanwhile, or belongs to another state directory.",
);

export const ProcessContainerNotRunning = defineError(
  "PROCESS_CONTAINER_NOT_RUNNING",
  "cannot {action} in container {id}: it is not running",
  "Wait until the container runs, or look at why it ended in the pod's status.",
);

export const ProcessContainerUnfit = defineError(
  "PROCESS_CONTAINER_UNFIT",
  "cannot make container {name} a process of this machine: {reason}",
  "Change the pod as the reason says, or run it on a node with a container runtime.",
);

export const ProcessStartFailed = defineError(
  "PROCESS_START_FAILED",
  "cannot start container {id}: {reason}",
  "Look at keeper.log in the container's directory below the node's process/ directory.",
);

export const ProcessGroupNotMade = defineError(
  "PROCESS_GROUP_NOT_MADE",
  "cannot make a control group for the container ({code})",
  "Check that the node may write below /sys/fs/cgroup, and that nothing else removes groups of kubepods there.",
);

export const PodAddressesExhausted = defineError(
  "POD_ADDRESSES_EXHAUSTED",
  "cannot give the pod an address: all {count} of {range} are in use",
  "Remove pods, or give the node a larger range inside 127.0.0.0/8.",
);

export const InvalidPodRange = defineError(
  "INVALID_POD_RANGE",
  "{range} is not a range of addresses inside 127.0.0.0/8",
  "Give the node a range such as 127.88.0.0/16, with a prefix from /9 to /30.",
);

export const PodRangeInUse = defineError(
  "POD_RANGE_IN_USE",
  "cannot give pods addresses of {range}: another node on this machine uses them, or a part of them",
  "Leave --pod-range out, so that the node finds a free one, or give it another range inside 127.0.0.0/8.",
);

export const ProcessToolMissing = defineError(
  "PROCESS_TOOL_MISSING",
  "cannot {action}: the program {tool} is not on this machine",
  "Install it: coreutils and util-linux have all that the process runtime uses.",
);

export const PortForwardRefused = defineError(
  "PORT_FORWARD_REFUSED",
  "cannot connect to port {port} of the pod: {reason}",
  "Check that a process of the pod listens on that port, on the pod's address or on 127.0.0.1.",
);

export const ProcessCommandTimeout = defineError(
  "PROCESS_COMMAND_TIMEOUT",
  "command {command} in container {container} took longer than {timeoutMs} ms and was killed",
  "Give the probe a longer timeoutSeconds, or make the command quicker.",
);
