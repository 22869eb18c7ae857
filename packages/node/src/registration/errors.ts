import { defineError } from "@fjord/base";

export const NodeNameTaken = defineError(
  "NODE_NAME_TAKEN",
  "there is a node {name} already, it is another machine ({other}), and it is alive",
  "Give this node another name, or stop the other one first; 40 seconds after it has stopped its name is free.",
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
