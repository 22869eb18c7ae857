import { defineError } from "@fjord/base";

export const LogMissing = defineError(
  "LOG_MISSING",
  "there is no log at {path}",
  "The container has not started yet, or its log was removed with it.",
);
