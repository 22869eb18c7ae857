import { defineError } from "@fjord/base";

/** Nothing that another try could mend: the same pod fails the same way. */
export const LimitTooSmall = defineError(
  "CONTAINER_LIMIT_TOO_SMALL",
  "the memory limit is too small: it leaves no room even for the control group of a container",
  "Raise limits.memory of the pod's containers: a program needs megabytes, `64Mi` for instance. A number without a unit is one of bytes.",
);
