import { defineError } from "@fjord/base";

export const InvalidCaptureRequest = defineError(
  "CAPTURE_INVALID_REQUEST",
  "packets cannot be captured by this wish: {reason}",
  "`fjord network capture --help` says what may be asked for. A command and a gateway of different versions may not understand each other: upgrade the older one.",
);

export const InvalidCapture = defineError(
  "CAPTURE_INVALID",
  "what the gateway sends is no capture: {reason}",
  "Does something else listen there? `--gateway` names where the gateway serves its metrics.",
);

export const CaptureDenied = defineError(
  "CAPTURE_DENIED",
  "packets of the link with site {site} cannot be captured: {reason}",
  "Who captures sees what others send: it takes the verb `capture` on links.fjord.dev, which the ClusterRole fjord-capture has. Ask who administers the cluster.",
);

export const LinkNotHere = defineError(
  "CAPTURE_LINK_NOT_HERE",
  "this node carries no link with site {site}",
  "Another node may by now: `kubectl get sites -o yaml` has it in status.gateway. `fjord network status` says how the link is, and repeating the command asks the right one.",
);

export const TooManyCaptures = defineError(
  "CAPTURE_TOO_MANY",
  "this gateway captures {count} times already",
  "Wait for one to end: all end by themselves. The gateway's log says whose they are.",
);

export const CaptureImpossible = defineError(
  "CAPTURE_IMPOSSIBLE",
  "packets cannot be captured on this node: {reason}",
  "It takes nftables' `log` (module nft_log), the kernel's nfnetlink_log, and perl (Debian: perl-base), which Fjord's image has. The link itself is not touched by this.",
);
