import { defineError } from "@fjord/base";

export const KubeconfigUnreadable = defineError(
  "KUBE_CONFIG_UNREADABLE",
  "cannot read the kubeconfig {file}: {reason}",
  "Check the path and its permissions. A file that is named explicitly must exist; files listed in KUBECONFIG may be missing.",
);

export const KubeconfigSyntax = defineError(
  "KUBE_CONFIG_SYNTAX",
  "{file}:{line}:{column}: not valid YAML: {problem}",
  "Correct the file at that line and column; tabs in the indentation and unquoted colons are the usual causes.",
);

export const KubeconfigField = defineError(
  "KUBE_CONFIG_FIELD",
  "{file}: {field}: {problem}",
  "Correct that field of that file. Entries of lists are counted from 0.",
);

export const ContextUnknown = defineError(
  "KUBE_CONFIG_CONTEXT_UNKNOWN",
  'there is no context "{context}" in {files}{suggestion}; known contexts: {known}',
  "Name one of the known contexts, or load the kubeconfig that holds the one you want.",
);

export const ContextNotChosen = defineError(
  "KUBE_CONFIG_CONTEXT_NOT_CHOSEN",
  "no current-context is set in {files}; known contexts: {known}",
  "Choose a context by name, or set one with `kubectl config use-context`.",
);

export const EntryUnknown = defineError(
  "KUBE_CONFIG_ENTRY_UNKNOWN",
  '{where}: there is no {entry} "{name}"{suggestion}; known {entry} entries: {known}',
  "Correct the name, or add the entry that the context points at.",
);

export const KubeconfigNotWritable = defineError(
  "KUBE_CONFIG_NOT_WRITABLE",
  "cannot write the configuration of {server} as a kubeconfig: {reason}",
  "A kubeconfig holds certificates, tokens, basic authentication, exec plugins and impersonation, and nothing else.",
);

export const TokenFileUnusable = defineError(
  "KUBE_TOKEN_FILE",
  "{where}: cannot take a token from {path}: {reason}",
  "Check that the file exists, can be read and holds one token; in a pod, that a service account token is mounted.",
);

export const InClusterUnusable = defineError(
  "KUBE_IN_CLUSTER",
  "cannot use the service account of this pod: {reason}",
  "Check that the pod has a service account and that automountServiceAccountToken is not false.",
);

export const NoClusterConfig = defineError(
  "KUBE_NO_CONFIG",
  "found no Kubernetes cluster to talk to; looked at {looked}",
  "Name a kubeconfig, set KUBECONFIG, or write ~/.kube/config.",
);

export const ClusterConfigInvalid = defineError(
  "KUBE_CONFIG_OPTION",
  "{field}: {problem}",
  "Correct that option of clusterConfig().",
);

export const ImpersonationInvalid = defineError(
  "KUBE_IMPERSONATION",
  "cannot act as someone else: {field}: {problem}",
  "Name a user, and groups, a UID and extra values as the server knows them: not empty, without spaces around them and without control characters.",
);

export const ExecPluginNotFound = defineError(
  "KUBE_EXEC_PLUGIN_NOT_FOUND",
  "{where}: cannot run the credential plugin {command}: {reason}{hint}",
  "Install the plugin, or correct users[].user.exec.command. A bare name is looked up in PATH, a relative path from the kubeconfig's directory.",
);

export const ExecPluginFailed = defineError(
  "KUBE_EXEC_PLUGIN_FAILED",
  "{where}: the credential plugin {command} failed: {reason}{stderr}",
  "Run the plugin by hand to see why it fails; often a login has run out.",
);

export const ExecPluginTimeout = defineError(
  "KUBE_EXEC_PLUGIN_TIMEOUT",
  "{where}: the credential plugin {command} gave no answer within {seconds} s{stderr}",
  "Run the plugin by hand: it may be waiting for input or for a network that is not there.",
);

export const ExecPluginOutput = defineError(
  "KUBE_EXEC_PLUGIN_OUTPUT",
  "{where}: the credential plugin {command} printed no usable ExecCredential: {problem}",
  "Check that apiVersion in users[].user.exec is one the plugin speaks, and that it prints nothing else on stdout.",
);

export const ExecPluginInteractive = defineError(
  "KUBE_EXEC_PLUGIN_INTERACTIVE",
  "{where}: the credential plugin {command} needs a terminal (interactiveMode: Always) and there is none",
  "Run the command from a terminal once to log in, or use credentials that need no one at the keyboard.",
);
