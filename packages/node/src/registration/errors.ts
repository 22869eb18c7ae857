import { defineError } from "@fjord/base";

export const NodeNameTaken = defineError(
  "NODE_NAME_TAKEN",
  "there is a node {name} already, it is another machine ({other}), and it is alive",
  "Give this node another name, or stop the other one first; 40 seconds after it has stopped its name is free.",
);

export const FactsUnknown = defineError(
  "NODE_FACTS_UNKNOWN",
  "cannot say what node {name} is like: that is not known yet",
  "It is tried again. If it stays so, whoever gives the facts never does: look at the log for the runtime.",
);

export const LabelRefused = defineError(
  "NODE_LABEL_REFUSED",
  "a node may not give itself the label {label}: {reason}",
  "Use a label of your own domain, or node.kubernetes.io/ and kubelet.kubernetes.io/; let an administrator set the others with `kubectl label node`.",
);

export const TaintInvalid = defineError(
  "NODE_TAINT_INVALID",
  "cannot use the taint {taint}: {reason}",
  "Write taints as key=value:effect or key:effect, where the effect is NoSchedule, PreferNoSchedule or NoExecute.",
);

export const CertificateDenied = defineError(
  "NODE_CERTIFICATE_DENIED",
  "the request {request} for a certificate was refused: {reason}",
  "Ask whoever refused it; then start the node again, which makes a new key and a new request.",
);

export const CertificateStrange = defineError(
  "NODE_CERTIFICATE_STRANGE",
  "the certificate that was issued for request {request} cannot be used: {problem}",
  "Look at what signs certificates in this cluster: it has to keep the key and the name that were asked for.",
);

export const BootstrapTokenRefused = defineError(
  "NODE_BOOTSTRAP_TOKEN_REFUSED",
  "the API server {server} does not take the bootstrap token {token}: it is wrong, has expired or was deleted",
  "Make a new one, for instance with `kubeadm token create`, and start the node with it. The API server has to run with --enable-bootstrap-token-auth.",
);

export const BootstrapNotAllowed = defineError(
  "NODE_BOOTSTRAP_NOT_ALLOWED",
  "the bootstrap token {token} may not ask {server} for a node's certificate: {reason}",
  "Allow it: `kubectl create clusterrolebinding node-bootstrap --clusterrole=system:node-bootstrapper --group=system:bootstrappers`. See docs/node.md for the bindings that approve the requests.",
);

export const ServerNotTrusted = defineError(
  "NODE_SERVER_NOT_TRUSTED",
  "the API server at {server} is not the one that was meant: {reason}",
  "Give the certificate authority of that cluster, or the right hash of it. If both are right, somebody may be listening in.",
);

export const NoWayToJoin = defineError(
  "NODE_NO_WAY_TO_JOIN",
  "node {name} has no credentials: {pki} holds none, and neither a kubeconfig nor a bootstrap token was given",
  "Start it with a kubeconfig, or with a server, its certificate authority and a bootstrap token.",
);

export const IdentityMismatch = defineError(
  "NODE_IDENTITY_MISMATCH",
  "the credentials in {pki} are those of {found}, not of node {name}",
  "Start the node under its old name, give it another state directory, or give a bootstrap token for the new name.",
);
