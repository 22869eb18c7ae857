import type { PersistentVolume, PersistentVolumeClaim, Pod } from "@fjord/kube";
import type { PodObjects } from "../objects/pod-objects.ts";
import { ClaimUnusable, PersistentVolumeUnusable } from "./errors.ts";
import { matchesTerms, type NodeIdentity } from "./node-affinity.ts";
import type { Volume } from "./projections.ts";

/** Where the data of a claimed volume is on this machine. */
export interface PersistentDirectory {
  /** Of the PersistentVolume. */
  readonly name: string;
  readonly path: string;
  /** Those on a path of the host are left as they are. */
  readonly kind: "local" | "hostPath";
  readonly hostPathType: string;
  readonly readOnly: boolean;
}

/** Finds what the claim of a volume has been given; throws with the reason where the pod cannot use it here. */
export async function persistentDirectoryOf(
  volume: Volume,
  pod: Pod,
  objects: PodObjects,
  node: NodeIdentity,
  signal?: AbortSignal,
): Promise<PersistentDirectory> {
  const name = volume.persistentVolumeClaim?.claimName ?? `${pod.metadata.name}-${volume.name}`;
  const claim = await objects.claim(pod.metadata.namespace ?? "", name, signal);
  const volumeName = boundVolume(claim, name, volume.ephemeral === undefined ? undefined : pod);
  const found = await objects.persistentVolume(volumeName, signal);
  const place = placeOf(found, volumeName, claim as PersistentVolumeClaim, node);
  return { ...place, readOnly: volume.persistentVolumeClaim?.readOnly ?? false };
}

function boundVolume(claim: PersistentVolumeClaim | undefined, name: string, owner: Pod | undefined): string {
  const fail = (reason: string) => new ClaimUnusable({ name, reason });
  if (claim === undefined) throw fail("not found");
  const owners = claim.metadata.ownerReferences ?? [];
  if (owner !== undefined && !owners.some(({ uid, controller }) => controller && uid === owner.metadata.uid)) {
    throw fail("was not created for this pod");
  }
  if (claim.metadata.deletionTimestamp !== undefined) throw fail("is being deleted");
  if (claim.status?.phase !== "Bound" || !claim.spec?.volumeName) throw fail("is not bound");
  return claim.spec.volumeName;
}

function placeOf(
  volume: PersistentVolume | undefined,
  name: string,
  claim: PersistentVolumeClaim,
  node: NodeIdentity,
): Omit<PersistentDirectory, "readOnly"> {
  const fail = (reason: string) => new PersistentVolumeUnusable({ name, reason });
  if (volume === undefined) throw fail("not found");
  const { claimRef, nodeAffinity, volumeMode, local, hostPath } = volume.spec ?? {};
  if (claimRef?.uid !== claim.metadata.uid) throw fail("is bound to another claim");
  if (volumeMode === "Block") throw fail("is a raw block device, which this node cannot give to containers");
  const terms = nodeAffinity?.required?.nodeSelectorTerms;
  if (terms !== undefined && !matchesTerms(terms, node)) throw fail("does not fit this node by its node affinity");
  if (local !== undefined) return { name, path: checked(local.path, fail), kind: "local", hostPathType: "" };
  if (hostPath !== undefined) {
    return { name, path: checked(hostPath.path, fail), kind: "hostPath", hostPathType: hostPath.type ?? "" };
  }
  throw fail("is of a kind that this node cannot serve: only local and hostPath are");
}

function checked(path: string, fail: (reason: string) => Error): string {
  if (!path.startsWith("/") || path.split("/").includes("..") || path.includes("\0")) {
    throw fail(`has the path ${JSON.stringify(path)}, which must be absolute and without '..'`);
  }
  return path;
}
