import type { KubeObject } from "@fjord/base";
import type { Outcome } from "./trial.ts";

/** An outcome without what is of the moment, and without what admission adds, which is no matter of the kinds. */
export function compared({ object, errors, warnings }: Outcome): Record<string, unknown> {
  if (errors !== undefined) return { errors: errors.map(withoutDifference) };
  return { object: object && plain(object), warnings };
}

/** Differences are told in words of each server's own types. */
const withoutDifference = (text: string): string => text.replace(/\n@@[^]*$/, "");

function plain(object: KubeObject): unknown {
  const times = /"(lastTransitionTime|eventTime)":"[^"]*"/g;
  const copy = JSON.parse(JSON.stringify(object).replace(times, '"$1":"then"')) as KubeObject & {
    spec?: Record<string, unknown>;
    status?: unknown;
  };
  const { uid, resourceVersion, creationTimestamp, managedFields, ...metadata } = copy.metadata;
  copy.metadata = metadata;
  if (copy.kind === "Pod" && copy.spec !== undefined) withoutAdmission(copy.spec);
  return copy;
}

function withoutAdmission(spec: Record<string, unknown>): void {
  for (const field of ["serviceAccount", "serviceAccountName", "priority", "preemptionPolicy"]) delete spec[field];
  const own = ((spec.tolerations ?? []) as { key?: string }[]).filter(
    ({ key }) => key !== "node.kubernetes.io/not-ready" && key !== "node.kubernetes.io/unreachable",
  );
  if (own.length === 0) delete spec.tolerations;
  else spec.tolerations = own;
}
