import type { Pod } from "@fjord/kube";

/** What makes a pod anew and can be moved, as commands take it: `deployment/web`. */
export function workloadOf({ metadata }: Pod): string | undefined {
  const owner = metadata.ownerReferences?.find(({ controller }) => controller === true);
  if (owner?.kind === "StatefulSet") return `statefulset/${owner.name}`;
  const hash = metadata.labels?.["pod-template-hash"];
  // A Deployment's ReplicaSets are called after it and the hash of their template.
  if (owner?.kind !== "ReplicaSet" || hash === undefined || !owner.name.endsWith(`-${hash}`)) return undefined;
  return `deployment/${owner.name.slice(0, -hash.length - 1)}`;
}
