import {
  type LabelSelector,
  matchesNodeTerm,
  matchesSelector,
  type PersistentVolume,
  type PersistentVolumeClaim,
  parseQuantity,
  type StorageClass,
} from "@fjord/kube";
import type { NodeFacts } from "../node-facts.ts";
import { type FilterPlugin, refused } from "../plugin.ts";
import type { Volumes } from "../snapshot.ts";

const elsewhere = refused("node(s) didn't match PersistentVolume's node affinity", true);
const nothing = refused("node(s) didn't find available persistent volumes to bind", true);
const unbound = refused("pod has unbound immediate PersistentVolumeClaims", true);
const gone = refused("node(s) unavailable due to one or more pvc(s) bound to non-existent pv(s)", true);
const inUse = refused(
  "node(s) unavailable due to PersistentVolumeClaim with ReadWriteOncePod access mode already in-use by another pod",
  false,
);

/** Claims that are bound pin the pod to where the volume is; others that wait for it need a volume, or a maker of one. */
export const volumeBinding: FilterPlugin = {
  name: "VolumeBinding",
  prepare({ claims, namespace }, { volumes }) {
    if (claims.length === 0) return undefined;
    const bound: PersistentVolume[] = [];
    const waiting: { claim: PersistentVolumeClaim; storageClass: StorageClass }[] = [];
    for (const name of claims) {
      const claim = volumes.claim(namespace, name);
      if (claim === undefined) return refused(`persistentvolumeclaim "${name}" not found`, true);
      if (claim.metadata.deletionTimestamp !== undefined) {
        return refused(`persistentvolumeclaim "${name}" is being deleted`, true);
      }
      if (claim.status?.phase === "Lost") {
        return refused(`persistentvolumeclaim "${name}" bound to non-existent persistentvolume`, true);
      }
      const storageClass = volumes.storageClass(claim.spec?.storageClassName ?? "");
      const volume = isBound(claim) ? volumes.volume(claim.spec?.volumeName ?? "") : undefined;
      if (volume !== undefined) bound.push(volume);
      else if (isBound(claim)) return gone;
      else if (storageClass?.volumeBindingMode !== "WaitForFirstConsumer") return unbound;
      else waiting.push({ claim, storageClass });
    }
    return (node) => {
      if (!bound.every((volume) => isReachable(volume, node))) return elsewhere;
      const taken = new Set<string>();
      for (const { claim, storageClass } of waiting) {
        const found = findVolume(claim, node, volumes, taken);
        if (found !== undefined) taken.add(found.metadata.name ?? "");
        else if (!canMake(storageClass, node)) return nothing;
      }
      return undefined;
    };
  },
};

/** Of volumes for one pod alone there is one pod. */
export const volumeRestrictions: FilterPlugin = {
  name: "VolumeRestrictions",
  prepare({ claims, namespace, uid }, { volumes }) {
    const single = claims.filter((name) =>
      volumes.claim(namespace, name)?.spec?.accessModes?.includes("ReadWriteOncePod"),
    );
    if (single.length === 0) return undefined;
    return (node) => {
      for (const other of node.pods) {
        if (other.uid === uid || other.namespace !== namespace) continue;
        if (other.claims.some((name) => single.includes(name))) return inUse;
      }
      return undefined;
    };
  },
};

export function isBound({ spec, metadata }: PersistentVolumeClaim): boolean {
  return (
    spec?.volumeName !== undefined &&
    spec.volumeName !== "" &&
    metadata.annotations?.["pv.kubernetes.io/bind-completed"] !== undefined
  );
}

/** The smallest volume on the node that will do for the claim. */
export function findVolume(
  claim: PersistentVolumeClaim,
  node: NodeFacts,
  volumes: Volumes,
  taken: ReadonlySet<string>,
): PersistentVolume | undefined {
  const { spec, metadata } = claim;
  const wanted = sizeOf(spec?.resources?.requests?.storage);
  let best: { volume: PersistentVolume; size: bigint } | undefined;
  for (const volume of volumes.volumes()) {
    if (taken.has(volume.metadata.name ?? "")) continue;
    const size = sizeOf(volume.spec?.capacity?.storage);
    const owner = volume.spec?.claimRef;
    const isFree =
      owner === undefined
        ? volume.status?.phase === "Available"
        : owner.uid === metadata.uid && owner.uid !== undefined;
    const fits =
      isFree &&
      size >= wanted &&
      (volume.spec?.storageClassName ?? "") === (spec?.storageClassName ?? "") &&
      (volume.spec?.volumeMode ?? "Filesystem") === (spec?.volumeMode ?? "Filesystem") &&
      (spec?.accessModes ?? []).every((mode) => volume.spec?.accessModes?.includes(mode)) &&
      (spec?.selector === undefined || matchesSelector(spec.selector as LabelSelector, volume.metadata.labels)) &&
      isReachable(volume, node);
    if (fits && (best === undefined || size < best.size)) best = { volume, size };
  }
  return best?.volume;
}

function isReachable({ spec }: PersistentVolume, node: NodeFacts): boolean {
  const terms = spec?.nodeAffinity?.required?.nodeSelectorTerms;
  return terms === undefined || terms.some((term) => matchesNodeTerm(term, node));
}

function canMake({ provisioner, allowedTopologies = [] }: StorageClass, { labels }: NodeFacts): boolean {
  if (provisioner === "kubernetes.io/no-provisioner") return false;
  if (allowedTopologies.length === 0) return true;
  return allowedTopologies.some(({ matchLabelExpressions = [] }) =>
    matchLabelExpressions.every(({ key, values }) => labels[key] !== undefined && values.includes(labels[key])),
  );
}

function sizeOf(quantity: string | number | undefined): bigint {
  return quantity === undefined ? 0n : parseQuantity(quantity);
}
