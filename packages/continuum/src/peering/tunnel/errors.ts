import { defineError } from "@fjord/base";

export const NoParkedConnection = defineError(
  "PEER_NOT_DIALLED_IN",
  "the site {site} has no endpoint and has not dialled out to this one",
  "Check that its agent runs, and that its Site object of this site has endpoints which it can reach.",
);

export const TunnelRefused = defineError(
  "TUNNEL_REFUSED",
  "the site {site} did not take a connection to be served over: {reason}",
  "Check that the two sites are paired: its Site object of this one must name this site's id.",
);
