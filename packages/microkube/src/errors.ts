import { defineError } from "@fjord/base";

export const StateInUse = defineError(
  "STATE_IN_USE",
  "cannot open {path}: another process has it",
  "A data directory is of one microkube at a time. Stop the other one, or give this one a directory of its own.",
);

export const StateUnreadable = defineError(
  "STATE_UNREADABLE",
  "cannot open {path}: {problem}",
  "Look whether the disk is full and the file may be read and written. A file that is no database is not microkube's: move it away.",
);

export const PortTaken = defineError(
  "PORT_TAKEN",
  "cannot listen on {host}:{port}: another program does",
  "Choose another port with --port, or 0 for any that is free.",
);
