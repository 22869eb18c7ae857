import { defineError } from "@fjord/base";

export const NoAddress = defineError(
  "NODE_NO_ADDRESS",
  "cannot find an address of this machine on the way to {server}: {reason}",
  "Connect the machine to a network, or name the node's address.",
);
