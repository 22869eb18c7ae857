import { defineError } from "@fjord/base";

export const CredentialsUnreadable = defineError(
  "MICROKUBE_CREDENTIALS_UNREADABLE",
  "cannot use the cluster's {name} in {folder}: {problem}",
  "Restore the file from a backup, or remove the whole folder: the cluster then makes new credentials, and every client needs a new kubeconfig.",
);
