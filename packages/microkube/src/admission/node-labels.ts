type Labels = Readonly<Record<string, string>>;

/** Labels of Kubernetes' own that kubelets set. */
const kubeletLabels = [
  "kubernetes.io/hostname",
  "topology.kubernetes.io/zone",
  "topology.kubernetes.io/region",
  "failure-domain.beta.kubernetes.io/zone",
  "failure-domain.beta.kubernetes.io/region",
  "beta.kubernetes.io/instance-type",
  "node.kubernetes.io/instance-type",
  "kubernetes.io/os",
  "kubernetes.io/arch",
  "beta.kubernetes.io/os",
  "beta.kubernetes.io/arch",
];

/** Which labels of its node a kubelet may not change as it does: pods of others are kept away by them. */
export function forbiddenLabels(labels: Labels = {}, old: Labels = {}): string[] {
  const keys = new Set([...Object.keys(labels), ...Object.keys(old)]);
  const changed = [...keys].filter((key) => labels[key] !== old[key]);
  return changed.filter(isForbidden).sort();
}

function isForbidden(label: string): boolean {
  const domain = label.includes("/") ? (label.split("/")[0] ?? "") : "";
  const isIn = (name: string) => domain === name || domain.endsWith(`.${name}`);
  if (isIn("node-restriction.kubernetes.io")) return true;
  if (!isIn("kubernetes.io") && !isIn("k8s.io")) return false;
  return !kubeletLabels.includes(label) && !isIn("kubelet.kubernetes.io") && !isIn("node.kubernetes.io");
}
