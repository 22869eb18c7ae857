import { defineError } from "@fjord/base";

/** Why a virtual node cannot say what its pods use. */
export const UsageUnknown = defineError(
  "TELEMETRY_SITE_UNKNOWN",
  "cannot ask site {site} what pods use there: it is not known here",
  "The Site object of the provider is missing: `kubectl get sites` shows those that are known.",
);

export const UsageMalformed = defineError(
  "TELEMETRY_USAGE_MALFORMED",
  "site {site} does not say in a way that can be read what pods use there",
  "Its agent may be of another version: compare `fjord version` on both sides.",
);
