import {
  type PersistentVolumeClaim as Claim,
  type KubeClient,
  type ObjectKey,
  PersistentVolume,
  PersistentVolumeClaim,
} from "@fjord/kube";
import type { NodeFacts } from "./node-facts.ts";
import { findVolume, isBound } from "./plugins/volumes.ts";
import type { PodFacts } from "./pod-facts.ts";
import type { Volumes } from "./snapshot.ts";

export const SELECTED_NODE_ANNOTATION = "volume.kubernetes.io/selected-node";

/**
 * What has to be written before a pod with claims that wait for it can be bound: a volume of the node is given to the
 * claim, or the claim is given the node, for whoever makes volumes.
 */
export async function prepareClaims(
  client: KubeClient,
  { claims, namespace }: PodFacts,
  node: NodeFacts,
  volumes: Volumes,
  signal: AbortSignal,
): Promise<ObjectKey[]> {
  const waiting = claims.flatMap((name) => volumes.claim(namespace, name) ?? []).filter((claim) => !isBound(claim));
  const taken = new Set<string>();
  for (const claim of waiting) {
    const { name = "", uid = "", resourceVersion = "" } = claim.metadata;
    const volume = findVolume(claim, node, volumes, taken);
    if (volume === undefined) {
      const annotations = { [SELECTED_NODE_ANNOTATION]: node.name };
      await client.patch(
        PersistentVolumeClaim,
        { name, namespace },
        "merge",
        { metadata: { annotations } },
        { signal },
      );
      continue;
    }
    taken.add(volume.metadata.name ?? "");
    const claimRef = { apiVersion: "v1", kind: "PersistentVolumeClaim", name, namespace, uid, resourceVersion };
    const patch = {
      metadata: {
        resourceVersion: volume.metadata.resourceVersion,
        annotations: { "pv.kubernetes.io/bound-by-controller": "yes" },
      },
      spec: { claimRef },
    };
    await client.patch(PersistentVolume, { name: volume.metadata.name ?? "" }, "merge", patch, { signal });
  }
  return waiting.map(({ metadata }: Claim) => ({ name: metadata.name ?? "", namespace }));
}
