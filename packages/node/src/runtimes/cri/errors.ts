import { defineError } from "@fjord/base";

export const CriSocketMissing = defineError(
  "CRI_SOCKET_MISSING",
  "cannot reach the container runtime: there is no socket {socket}",
  "Start the container runtime, or name its socket: containerd's is usually /run/containerd/containerd.sock, CRI-O's /run/crio/crio.sock.",
);

export const CriPermissionDenied = defineError(
  "CRI_PERMISSION_DENIED",
  "cannot reach the container runtime: {socket} may not be opened by this user",
  "Run the node as root: a container runtime's socket is root's, because whoever may use it has the machine.",
);

export const CriNotListening = defineError(
  "CRI_NOT_LISTENING",
  "cannot reach the container runtime: nobody listens on {socket}",
  "The runtime has stopped or is still starting; look at its own log. The node tries again by itself.",
);

export const CriWentAway = defineError(
  "CRI_WENT_AWAY",
  "cannot {action}: the container runtime at {socket} went away: {reason}",
  "It crashed or was restarted. Containers outlive that, and the node goes on by itself once it is back.",
);

export const CriNotSupported = defineError(
  "CRI_NOT_SUPPORTED",
  "{socket} is no container runtime that speaks CRI v1: {reason}",
  "Use containerd 1.6 or later with its CRI plugin enabled (`disabled_plugins` must not name cri), or CRI-O 1.20 or later.",
);

const CallFailed = defineError(
  "CRI_CALL_FAILED",
  "cannot {action}: {reason}",
  "The container runtime understood and refused, in its own words; its log often says more.",
);

/** The runtime's refusal. */
export class CriCallFailed extends CallFailed {
  /** As gRPC counts them: `grpcStatus` has the names. */
  readonly status: number;

  constructor(values: { action: string; reason: string; status: number }, options?: ErrorOptions) {
    super(values, options);
    this.status = values.status;
  }
}

export const CriStreamRefused = defineError(
  "CRI_STREAM_REFUSED",
  "cannot connect to the container runtime's streaming server at {url}: {reason}",
  "The runtime gave out this address but does not serve it: let its streaming server listen on this machine's loopback, without TLS.",
);

export const CriCommandFailed = defineError(
  "CRI_COMMAND_FAILED",
  "cannot {action}: {reason}",
  "The container runtime could not start or follow the command, in its own words: most often there is no such program in the image.",
);

export const CriPortFailed = defineError(
  "CRI_PORT_FAILED",
  "cannot forward port {port} of sandbox {sandbox}: {reason}",
  "Most often nothing listens on that port inside of the pod.",
);

export const CriCommandTimedOut = defineError(
  "CRI_COMMAND_TIMED_OUT",
  "{program} in the container {id} did not end within {seconds} s",
  "Give the probe or hook more time (`timeoutSeconds`), or make the command shorter.",
);

export const CriStillRuns = defineError(
  "CRI_STILL_RUNS",
  "cannot remove the container {id}: it runs",
  "It was begun by an earlier process of the node just now; the node looks again and keeps it.",
);

export const CriGroupBusy = defineError(
  "CRI_GROUP_BUSY",
  "cannot remove the control group {cgroup} of a pod that is gone: it has processes",
  "The container runtime is still busy with that pod; the node tries again by itself.",
);
