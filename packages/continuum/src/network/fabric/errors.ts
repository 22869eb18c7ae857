import { defineError } from "@fjord/base";

export const InvalidNetworkState = defineError(
  "NETWORK_STATE_INVALID",
  "the network state cannot be applied: {reason}",
  "Nothing was changed. Correct the state: it is made from the Site's network settings, or read from the file that was named.",
);
