import type { OwnerReference } from "@fjord/base";
import { type PersistentVolumeClaim, Pod, StatefulSet } from "@fjord/kube";
import { controllerReference, refersTo } from "../ownership.ts";
import { sameValue } from "../same-value.ts";
import { isInRange, ordinalOf } from "./stateful-pod.ts";

/**
 * The owners that a claim should have, so that it goes with its set or with a pod that is scaled away as the retention
 * policy says; undefined where it has them, or where somebody else looks after it.
 */
export function claimOwners(claim: PersistentVolumeClaim, set: StatefulSet, pod: Pod): OwnerReference[] | undefined {
  const owners = claim.metadata.ownerReferences ?? [];
  const isSet = (owner: OwnerReference) => refersTo(owner, StatefulSet) && owner.name === set.metadata.name;
  const isPod = (owner: OwnerReference) => refersTo(owner, Pod) && owner.name === pod.metadata.name;
  // Left by another of the same name, which the garbage collector will see to.
  if (owners.some((owner) => isSet(owner) && owner.uid !== set.metadata.uid)) return undefined;
  if (owners.some((owner) => isPod(owner) && owner.uid !== pod.metadata.uid)) return undefined;
  const others = owners.filter((owner) => !isSet(owner) && !isPod(owner));
  const { whenDeleted = "Retain", whenScaled = "Retain" } = set.spec?.persistentVolumeClaimRetentionPolicy ?? {};
  const isKept = whenDeleted === "Retain" && whenScaled === "Retain";
  const isOthers = !isKept && others.some(({ controller }) => controller === true);
  const wanted = isOthers ? others : [...others, ...own(set, pod, whenDeleted, whenScaled)];
  return sameValue(wanted, owners) ? undefined : wanted;
}

function own(set: StatefulSet, pod: Pod, whenDeleted: string, whenScaled: string): OwnerReference[] {
  const ordinal = ordinalOf(pod, set);
  const isScaledAway = ordinal === undefined || !isInRange(ordinal, set);
  if (whenScaled === "Delete" && isScaledAway) return [controllerReference(Pod, pod)];
  return whenDeleted === "Delete" ? [controllerReference(StatefulSet, set)] : [];
}
