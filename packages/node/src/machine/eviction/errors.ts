import { defineError } from "@fjord/base";

export const ThresholdInvalid = defineError(
  "NODE_EVICTION_THRESHOLD",
  "cannot use the eviction threshold {threshold}: {reason}",
  "Write thresholds as signal<amount, separated by commas, for instance memory.available<100Mi,nodefs.available<10%.",
);
