import { defineError } from "@fjord/base";

export const LogMissing = defineError(
  "LOG_MISSING",
  "there is no log at {path}",
  "The container has not started yet, or its log was removed with it.",
);

export const LogNotAFile = defineError(
  "LOG_NOT_A_FILE",
  "will not read the log {file}: it is no plain file",
  "Something with access to the node's log folder has put a link or a pipe there: find out which pod mounts that folder.",
);
