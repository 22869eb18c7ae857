import { defineError } from "@fjord/base";

export const ProviderSilent = defineError(
  "PEERING_PROVIDER_SILENT",
  "cannot end the peering {peering} yet: its provider does not answer, and still has to be told",
  "Wait until the other site is back, or give it up with `fjord unpeer --force`.",
);
