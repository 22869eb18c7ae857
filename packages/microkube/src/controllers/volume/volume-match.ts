import {
  matchesNodeTerm,
  type Node,
  type PersistentVolume,
  type PersistentVolumeClaim,
  parseQuantity,
} from "@fjord/kube";
import { selects } from "../label-selector.ts";

const BETA_CLASS = "volume.beta.kubernetes.io/storage-class";

export function classOf({ metadata, spec }: PersistentVolume | PersistentVolumeClaim): string {
  return metadata.annotations?.[BETA_CLASS] ?? spec?.storageClassName ?? "";
}

/** Whether the claim itself asks for no class at all: then none is given to it either. */
export function asksForNoClass({ metadata, spec }: PersistentVolumeClaim): boolean {
  return metadata.annotations?.[BETA_CLASS] === "" || spec?.storageClassName === "";
}

/** Whether a volume is meant for this very claim. */
export function isReservedFor({ spec }: PersistentVolume, { metadata }: PersistentVolumeClaim): boolean {
  const claim = spec?.claimRef;
  if (claim?.name !== metadata.name || claim?.namespace !== metadata.namespace) return false;
  return claim?.uid === undefined || claim.uid === "" || claim.uid === metadata.uid;
}

/** Why a volume cannot serve a claim; undefined where it can. */
export function mismatch(volume: PersistentVolume, claim: PersistentVolumeClaim): string | undefined {
  const { capacity, accessModes = [], volumeMode = "Filesystem" } = volume.spec ?? {};
  const wanted = claim.spec?.resources?.requests?.storage ?? 0;
  if (parseQuantity(capacity?.storage ?? 0) < parseQuantity(wanted)) return "requested PV is too small";
  if (classOf(volume) !== classOf(claim)) return "storageClassName does not match";
  if (volumeMode !== (claim.spec?.volumeMode ?? "Filesystem")) return "incompatible volumeMode";
  if (!(claim.spec?.accessModes ?? []).every((mode) => accessModes.includes(mode))) return "incompatible accessMode";
  return undefined;
}

/** The volume that suits a claim best: the one meant for it, else the smallest that is free and large enough. */
export function bestVolume(
  volumes: readonly PersistentVolume[],
  claim: PersistentVolumeClaim,
  node?: Node,
): PersistentVolume | undefined {
  const alive = volumes.filter(({ metadata }) => metadata.deletionTimestamp === undefined);
  const reserved = alive.find((volume) => isReservedFor(volume, claim) && mismatch(volume, claim) === undefined);
  if (reserved !== undefined) return reserved;
  const size = ({ spec }: PersistentVolume) => parseQuantity(spec?.capacity?.storage ?? 0);
  return alive
    .filter((volume) => volume.spec?.claimRef === undefined && volume.status?.phase === "Available")
    .filter(({ metadata }) => claim.spec?.selector === undefined || selects(claim.spec.selector, metadata.labels))
    .filter((volume) => mismatch(volume, claim) === undefined && isReachable(volume, node))
    .toSorted((a, b) => (size(a) < size(b) ? -1 : size(a) > size(b) ? 1 : 0))[0];
}

function isReachable({ spec }: PersistentVolume, node: Node | undefined): boolean {
  const terms = spec?.nodeAffinity?.required?.nodeSelectorTerms;
  if (terms === undefined || node === undefined) return true;
  const { name = "", labels = {} } = node.metadata;
  return terms.some((term) => matchesNodeTerm(term, { name, labels }));
}
