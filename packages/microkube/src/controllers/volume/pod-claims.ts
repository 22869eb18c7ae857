import type { Pod } from "@fjord/kube";

/** Names of the claims that a pod uses, those made for it alone included. */
export function claimKeys({ spec, metadata }: Pod): string[] {
  return (spec?.volumes ?? []).flatMap(({ name, persistentVolumeClaim, ephemeral }) => {
    if (persistentVolumeClaim) return [persistentVolumeClaim.claimName];
    return ephemeral ? [`${metadata.name}-${name}`] : [];
  });
}

/** Pods by namespace and name of the claims they use. */
export function byClaim(pod: Pod): readonly string[] {
  return claimKeys(pod).map((name) => `${pod.metadata.namespace}/${name}`);
}
