import type { KubeObject, ObjectMeta, Random } from "@fjord/base";
import { badRequest } from "../status-error.ts";
import type { Operation } from "./operation.ts";

const NAME_CHARACTERS = "bcdfghjklmnpqrstvwxz2456789";
const SUFFIX_LENGTH = 5;
const LONGEST_BASE = 63 - SUFFIX_LENGTH;

/** A name after `generateName`. */
export function generatedName(base: string, random: Random): string {
  let suffix = "";
  for (let i = 0; i < SUFFIX_LENGTH; i++) suffix += NAME_CHARACTERS[Math.floor(random() * NAME_CHARACTERS.length)];
  return base.slice(0, LONGEST_BASE) + suffix;
}

/** The namespace of the path, in the object too; another one there is a mistake. */
export function ensureNamespace({ type, namespace }: Operation, { metadata }: KubeObject): void {
  const expected = type.namespaced ? namespace : "";
  const actual = metadata.namespace ?? "";
  if (actual === expected && actual !== "") return;
  if (expected === "") delete metadata.namespace;
  else if (actual === "") metadata.namespace = expected;
  else throw badRequest("the namespace of the provided object does not match the namespace sent on the request");
}

/** What is sent to a path has the path's name. */
export function ensureName(name: string, { metadata }: KubeObject): void {
  if (metadata.name === name) return;
  if (metadata.name === undefined || metadata.name === "") {
    throw badRequest(`the name of the object (${name} based on URL) was undeterminable: name must be provided`);
  }
  throw badRequest(`the name of the object (${metadata.name}) does not match the name on the URL (${name})`);
}

/** What only the server sets. */
export function wipeSystemFields(metadata: ObjectMeta): void {
  delete metadata.creationTimestamp;
  delete metadata.uid;
  delete metadata.deletionTimestamp;
  delete metadata.deletionGracePeriodSeconds;
  delete (metadata as { selfLink?: unknown }).selfLink;
}

/** The same owner twice is once. */
export function uniteOwners(operation: Operation, { metadata }: KubeObject, afterMutation: boolean): void {
  const owners = metadata.ownerReferences;
  if (!Array.isArray(owners) || owners.length < 2) return;
  const seen = new Set<string>();
  const twice = new Set<string>();
  const kept = owners.filter((owner) => {
    const { apiVersion, kind, name, uid, controller, blockOwnerDeletion } = owner;
    const text = JSON.stringify([apiVersion, kind, name, uid, controller, blockOwnerDeletion]);
    if (seen.has(text)) twice.add(uid);
    return seen.size !== seen.add(text).size;
  });
  if (kept.length === owners.length) return;
  metadata.ownerReferences = kept;
  const when = afterMutation ? " after mutating admission happens" : "";
  operation.warn(
    `.metadata.ownerReferences contains duplicate entries${when}; API server dedups owner references in 1.20+, and may reject such requests as early as 1.24; please fix your requests; duplicate UID(s) observed: ${[...twice].join(", ")}`,
  );
}
