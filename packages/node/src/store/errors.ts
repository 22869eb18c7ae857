import { defineError } from "@fjord/base";

export const StoreNewer = defineError(
  "NODE_STORE_NEWER",
  "the node's store was written by a later version of Fjord (schema {found}; this one knows {known})",
  "It is set aside and a new one is begun; the pods come again from the API. Give the file its name back before going to the later version again.",
);

export const StoreDamaged = defineError(
  "NODE_STORE_DAMAGED",
  "the node's store fails its own check: {problem}",
  "It is set aside and a new one is begun; the pods come again from the API. Check the disk.",
);

export const StoreUnusable = defineError(
  "NODE_STORE_UNUSABLE",
  "cannot open the node's store {file}: {reason}",
  "Check that the state directory exists, that this user may write to it, and that its disk is not full.",
);

export const StoreInUse = defineError(
  "NODE_STORE_IN_USE",
  "another process uses the node's store {file}",
  "Stop that node first, or give this one a --state-dir of its own.",
);
