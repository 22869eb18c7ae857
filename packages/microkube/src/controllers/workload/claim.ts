import type { Kind, KubeObject } from "@fjord/base";
import { ifNotFound, isBeingDeleted, isInvalid, isNotFound, type KubeClient, requestFor } from "@fjord/kube";
import { controllerReference, controllerReferenceOf } from "../ownership.ts";

/** What an owner does with an object: it has it, takes it, lets go of it, or leaves it alone. */
export type Claim = "keep" | "adopt" | "release" | "ignore";

export function claimOf(object: KubeObject, owner: KubeObject, matches: boolean): Claim {
  const reference = controllerReferenceOf(object);
  if (reference === undefined) {
    return matches && !isBeingDeleted(owner) && !isBeingDeleted(object) ? "adopt" : "ignore";
  }
  if (reference.uid !== owner.metadata.uid) return "ignore";
  if (matches) return "keep";
  return isBeingDeleted(owner) ? "ignore" : "release";
}

export interface ClaimOptions<T extends KubeObject> {
  readonly client: KubeClient;
  /** Of what is claimed. */
  readonly kind: Kind<T>;
  readonly ownerKind: Kind;
  readonly owner: KubeObject;
  readonly matches: (object: T) => boolean;
  /** Given to what is adopted. */
  readonly finalizers?: readonly string[];
  readonly signal: AbortSignal;
}

/** Takes what matches and has no controller, lets go of what no longer matches, and gives what the owner then has. */
export async function claim<T extends KubeObject>(objects: readonly T[], options: ClaimOptions<T>): Promise<T[]> {
  const { owner, matches } = options;
  const kept: T[] = [];
  let mayAdopt: Promise<boolean> | undefined;
  for (const object of objects) {
    const claim = claimOf(object, owner, matches(object));
    if (claim === "keep") kept.push(object);
    if (claim === "release") await release(object, options);
    if (claim !== "adopt") continue;
    mayAdopt ??= isStillThere(options);
    if (!(await mayAdopt)) continue;
    const adopted = await adopt(object, options);
    if (adopted !== undefined) kept.push(adopted);
  }
  return kept;
}

/** By the server's word: a cache that is behind must not give pods to an owner that is gone. */
async function isStillThere({
  client,
  ownerKind,
  owner,
  signal,
}: Omit<ClaimOptions<KubeObject>, "kind" | "matches">): Promise<boolean> {
  try {
    const fresh = await client.get(ownerKind, requestFor(owner), { signal });
    return fresh.metadata.uid === owner.metadata.uid && !isBeingDeleted(fresh);
  } catch (error) {
    if (isNotFound(error)) return false;
    throw error;
  }
}

async function adopt<T extends KubeObject>(object: T, options: ClaimOptions<T>): Promise<T | undefined> {
  const { client, kind, ownerKind, owner, finalizers, signal } = options;
  const { uid } = object.metadata;
  const metadata = { uid, ownerReferences: [controllerReference(ownerKind, owner)], ...(finalizers && { finalizers }) };
  return await client.patch(kind, requestFor(object), "strategic", { metadata }, { signal }).catch(ifNotFound);
}

async function release<T extends KubeObject>(object: T, options: ClaimOptions<T>): Promise<void> {
  const { client, kind, owner, finalizers, signal } = options;
  const { uid } = object.metadata;
  const ownerReferences = [{ $patch: "delete", uid: owner.metadata.uid }];
  const metadata = { uid, ownerReferences, ...(finalizers && { "$deleteFromPrimitiveList/finalizers": finalizers }) };
  try {
    await client.patch(kind, requestFor(object), "strategic", { metadata }, { signal });
  } catch (error) {
    // Gone, or another of the same name: either way it is not the owner's any more.
    if (!isNotFound(error) && !isInvalid(error)) throw error;
  }
}
