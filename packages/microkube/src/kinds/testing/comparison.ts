import type { KubeObject } from "@fjord/base";
import type { Outcome } from "./trial.ts";

/** An outcome without what is of the moment, and without what admission adds, which is no matter of the kinds. */
export function compared({ object, errors, warnings }: Outcome): Record<string, unknown> {
  if (errors !== undefined) return { errors: errors.map(withoutDifference) };
  return { object: object && plain(object), warnings };
}

/** Differences are told in words of each server's own types. */
const withoutDifference = (text: string): string => text.split("\n@@")[0] as string;

function plain(object: KubeObject): unknown {
  const times = /"(lastTransitionTime|lastPhaseTransitionTime)":"[^"]*"/g;
  const copy = JSON.parse(JSON.stringify(object).replace(times, '"$1":"then"')) as KubeObject & {
    spec?: Record<string, unknown>;
    status?: unknown;
  };
  const { uid, resourceVersion, creationTimestamp, managedFields, ...metadata } = copy.metadata;
  copy.metadata = metadata;
  const { finalizers = [] } = metadata;
  copy.metadata.finalizers = finalizers.filter((one) => !protection.includes(one));
  if (copy.metadata.finalizers.length === 0) delete copy.metadata.finalizers;
  if (copy.kind === "Pod" && copy.spec !== undefined) withoutAdmission(copy.spec);
  if (copy.kind === "Node" && Array.isArray(copy.spec?.taints)) {
    copy.spec.taints = copy.spec.taints.filter(({ key }) => key !== "node.kubernetes.io/not-ready");
  }
  return copy;
}

const protection = ["pvc", "pv", "vac"].map((one) => `kubernetes.io/${one}-protection`);

function withoutAdmission(spec: Record<string, unknown>): void {
  for (const field of ["serviceAccount", "serviceAccountName", "priority", "preemptionPolicy"]) delete spec[field];
  const own = ((spec.tolerations ?? []) as { key?: string }[]).filter(
    ({ key }) => key !== "node.kubernetes.io/not-ready" && key !== "node.kubernetes.io/unreachable",
  );
  if (own.length === 0) delete spec.tolerations;
  else spec.tolerations = own;
}
