import { defineError } from "@fjord/base";

export const StateInUse = defineError(
  "STATE_IN_USE",
  "cannot open {path}: another process has it",
  "A data directory is of one microkube at a time. Stop the other one, or give this one a directory of its own.",
);

export const StateUnreadable = defineError(
  "STATE_UNREADABLE",
  "cannot open {path}: {problem}",
  "Look whether the disk is full and the file may be read and written. Where it is damaged or empty, start on a backup of the data directory; without one, delete it, and a new cluster begins. A file that is no database is not microkube's: move it away.",
);

export const PortTaken = defineError(
  "PORT_TAKEN",
  "cannot listen on {host}:{port}: another program does",
  "Stop what listens there, or choose another port (--port, 0 for any that is free; --api-port of `fjord micro`) or --address.",
);

export const AddressUnusable = defineError(
  "ADDRESS_UNUSABLE",
  "cannot listen on {host}:{port}: {problem}",
  "Give --address an address of this machine, like 127.0.0.1, or 0.0.0.0 for all of them.",
);

export const DataDirectoryUnusable = defineError(
  "DATA_DIRECTORY_UNUSABLE",
  "cannot keep anything in {path}: {problem}",
  "Name a folder with --data-dir that may be written to, or keep nothing with --memory.",
);

export const AuditPolicyUnusable = defineError(
  "AUDIT_POLICY_UNUSABLE",
  "cannot audit by {path}: {problem}",
  "The file has to be a Policy of audit.k8s.io/v1 with at least one rule, as for kube-apiserver's --audit-policy-file.",
);

export const AuditLogUnusable = defineError(
  "AUDIT_LOG_UNUSABLE",
  "cannot write the audit log {path}: {problem}",
  "Name a file in a folder that exists and may be written to, or - for standard output.",
);

export const AuditIncomplete = defineError(
  "AUDIT_INCOMPLETE",
  "{given} needs {missing}",
  "A policy says what is written down, a path says where to: give both, or neither.",
);

export const KubeconfigUnwritable = defineError(
  "KUBECONFIG_UNWRITABLE",
  "cannot write the administrator's kubeconfig to {path}: {problem}",
  "Look whether the disk is full, and move away what is in its place.",
);
