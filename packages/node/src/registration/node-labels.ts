import { LabelRefused } from "./errors.ts";

/** Labels of Kubernetes' own domains that nodes may set on themselves; the admission plugin NodeRestriction has the same. */
const allowed = new Set([
  "kubernetes.io/hostname",
  "kubernetes.io/arch",
  "kubernetes.io/os",
  "beta.kubernetes.io/arch",
  "beta.kubernetes.io/os",
  "beta.kubernetes.io/instance-type",
  "node.kubernetes.io/instance-type",
  "topology.kubernetes.io/region",
  "topology.kubernetes.io/zone",
  "failure-domain.beta.kubernetes.io/region",
  "failure-domain.beta.kubernetes.io/zone",
]);

const name = /^[A-Za-z0-9]([A-Za-z0-9._-]{0,61}[A-Za-z0-9])?$/;
const domain = /^[a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?$/;

/** Throws where the API would refuse the label, or where a node must not set it. */
export function checkNodeLabel(label: string, value: string): void {
  const slash = label.indexOf("/");
  const prefix = slash < 0 ? "" : label.slice(0, slash);
  if (!name.test(label.slice(slash + 1)) || (slash >= 0 && !domain.test(prefix))) {
    throw new LabelRefused({ label, reason: "that is no name of a label" });
  }
  if (value !== "" && !name.test(value)) {
    throw new LabelRefused({ label, reason: `${JSON.stringify(value)} cannot be the value of a label` });
  }
  if (isWithin(prefix, "node-restriction.kubernetes.io")) {
    throw new LabelRefused({ label, reason: "node-restriction.kubernetes.io is for administrators" });
  }
  const own = isWithin(prefix, "node.kubernetes.io") || isWithin(prefix, "kubelet.kubernetes.io");
  const foreign = isWithin(prefix, "kubernetes.io") || isWithin(prefix, "k8s.io");
  if (foreign && !own && !allowed.has(label)) {
    throw new LabelRefused({ label, reason: `${prefix} belongs to Kubernetes` });
  }
}

function isWithin(prefix: string, parent: string): boolean {
  return prefix === parent || prefix.endsWith(`.${parent}`);
}

/** `Node`'s words for machines, from Node.js'. */
export function architectureOf(arch: string): string {
  const names: Readonly<Record<string, string>> = { x64: "amd64", ia32: "386", ppc64: "ppc64le" };
  return names[arch] ?? arch;
}
