import type { KubeObject } from "@fjord/base";
import type { ResourceType } from "../kinds/resource-type.ts";
import { conflict, notFound } from "../status-error.ts";
import { Changed, type StoredObject, type StoreWrite } from "../store/store.ts";
import { admissionRequest, mutate, validate } from "./admission-chain.ts";
import { copyOf } from "./copy.ts";
import { contentOf } from "./object-text.ts";
import { keyFor, type Operation, type RegistryMeans, timestamp } from "./operation.ts";
import { fromStored } from "./versions.ts";

/** DeleteOptions, as far as they say how. */
export interface DeleteOptions {
  readonly gracePeriodSeconds?: number;
  readonly preconditions?: { readonly uid?: string; readonly resourceVersion?: string };
  readonly orphanDependents?: boolean;
  readonly propagationPolicy?: string;
}

export interface Deleted {
  /** As it was last; or, where it is not gone yet, as it is now. */
  readonly object: KubeObject;
  readonly stored?: StoredObject;
  readonly isGone: boolean;
  /** Whether this request has changed nothing: it was being deleted already. */
  readonly wasPending?: boolean;
}

const ORPHAN = "orphan";
const FOREGROUND = "foregroundDeletion";

export async function deleteObject(
  means: RegistryMeans,
  operation: Operation,
  name: string,
  options: DeleteOptions,
): Promise<Deleted> {
  const { type, namespace } = operation;
  const key = keyFor(type, namespace, name);
  for (;;) {
    const current = means.store.head(key);
    if (current === undefined) throw notFound(type, name);
    try {
      return await attempt(means, operation, name, options, current);
    } catch (error) {
      if (!(error instanceof Changed)) throw error;
    }
  }
}

async function attempt(
  means: RegistryMeans,
  operation: Operation,
  name: string,
  options: DeleteOptions,
  current: StoredObject,
): Promise<Deleted> {
  const { type, dryRun } = operation;
  const old = await fromStored(type, means.read(type, current), type.version);
  checkPreconditions(type, name, old, options);
  const request = admissionRequest(means, operation, { operation: "DELETE", name, object: undefined, old });
  await mutate(means.plugins, request);
  const settle = await validate(means.plugins, request);
  let succeeded = false;
  try {
    const outcome = plan(type, old, options, means.cluster.clock.now());
    if (outcome === "pending") return { object: old, stored: current, isGone: false, wasPending: true };
    if (dryRun) return { object: outcome.marked ?? old, isGone: outcome.isLast };
    const result = await carryOut(means, operation, current, outcome);
    succeeded = true;
    if (result.isGone) await type.strategy.afterDelete?.(result.object, means.cluster);
    return result;
  } finally {
    settle(succeeded);
  }
}

/** What a deletion does: first writes a mark, or ends the object, or both. */
interface Plan {
  readonly marked?: KubeObject;
  readonly isLast: boolean;
}

function plan(type: ResourceType, old: KubeObject, options: DeleteOptions, now: number): Plan | "pending" {
  const grace = graceOf(type, old, options, now);
  if (grace === "pending") return "pending";
  const finalizers = finalizersAfter(type, old, options);
  const held = finalizers.length > 0 || (type.strategy.finalizers?.(old) ?? []).length > 0;
  const changesFinalizers = finalizers.join() !== (old.metadata.finalizers ?? []).join();
  if (grace === undefined && !held && !changesFinalizers) return { isLast: true };
  const marked = copyOf(old);
  const { metadata } = marked;
  if (finalizers.length > 0) metadata.finalizers = finalizers;
  else delete metadata.finalizers;
  if (grace !== undefined) {
    if (metadata.deletionTimestamp === undefined && (metadata.generation ?? 0) > 0) bump(marked);
    metadata.deletionTimestamp = timestamp(grace.at);
    metadata.deletionGracePeriodSeconds = grace.seconds;
    return { marked, isLast: !held && grace.seconds === 0 };
  }
  if (!held) return { isLast: true };
  if (metadata.deletionTimestamp === undefined) bump(marked);
  if (metadata.deletionTimestamp === undefined || Date.parse(metadata.deletionTimestamp) > now) {
    metadata.deletionTimestamp = timestamp(now);
  }
  // Namespaces, which have finalizers of their own, have no such thing.
  if (type.strategy.finalizers === undefined) metadata.deletionGracePeriodSeconds = 0;
  type.strategy.prepareDelete?.(marked);
  return { marked, isLast: false };
}

function bump({ metadata }: KubeObject): void {
  if ((metadata.generation ?? 0) > 0) metadata.generation = (metadata.generation ?? 0) + 1;
}

/** Until when the object is given time; undefined: the kind knows no such thing, or has none to give. */
function graceOf(
  { strategy }: ResourceType,
  old: KubeObject,
  options: DeleteOptions,
  now: number,
): { seconds: number; at: number } | undefined | "pending" {
  const asked = options.gracePeriodSeconds === undefined ? undefined : negativeIsOne(options.gracePeriodSeconds);
  if (strategy.gracePeriod === undefined) return undefined;
  const { deletionTimestamp, deletionGracePeriodSeconds } = old.metadata;
  if (deletionTimestamp === undefined) {
    const seconds = strategy.gracePeriod(old, asked);
    return seconds === undefined ? undefined : { seconds, at: now + duration(seconds) };
  }
  const left = negativeIsOne(deletionGracePeriodSeconds ?? 0);
  if (left === 0) return undefined;
  // Time can be taken away, never given.
  if (asked === undefined || asked >= left) return "pending";
  const at = Date.parse(deletionTimestamp) - duration(left) + duration(asked);
  if (at >= now) return { seconds: asked, at };
  return { seconds: asked === 0 ? 0 : 1, at: now };
}

/** In milliseconds, as Go has it: in nanoseconds of 64 bits, with what is too long for them starting over. */
function duration(seconds: number): number {
  if (Math.abs(seconds) < 9e9) return seconds * 1000;
  return Number(BigInt.asIntN(64, BigInt(seconds) * 1_000_000_000n) / 1_000_000n);
}

const negativeIsOne = (seconds: number) => (seconds < 0 ? 1 : seconds);

/** Who has yet to agree, the garbage collector included where it has something to do. */
function finalizersAfter({ strategy }: ResourceType, { metadata }: KubeObject, options: DeleteOptions): string[] {
  const own = metadata.deletionTimestamp === undefined ? (strategy.deletionFinalizers ?? []) : [];
  const before = [...new Set([...(metadata.finalizers ?? []), ...own])];
  const rest = before.filter((one) => one !== ORPHAN && one !== FOREGROUND);
  const { orphanDependents, propagationPolicy } = options;
  if (orphanDependents !== undefined) return orphanDependents ? [...rest, ORPHAN] : rest;
  if (propagationPolicy === "Orphan") return [...rest, ORPHAN];
  if (propagationPolicy === "Foreground") return [...rest, FOREGROUND];
  if (propagationPolicy === "Background") return rest;
  if (before.includes(ORPHAN)) return [...rest, ORPHAN];
  if (before.includes(FOREGROUND)) return [...rest, FOREGROUND];
  return strategy.defaultPropagation === "Orphan" ? [...rest, ORPHAN] : rest;
}

async function carryOut(
  means: RegistryMeans,
  operation: Operation,
  current: StoredObject,
  { marked, isLast }: Plan,
): Promise<Deleted> {
  const { store } = means;
  const { key } = current;
  if (marked === undefined) {
    await store.write([{ key, expected: current.revision }]);
    return { object: means.read(operation.type, current), isGone: true };
  }
  let stored: StoredObject | undefined;
  const mark: StoreWrite = {
    key,
    expected: current.revision,
    content: (revision) => {
      marked.metadata.resourceVersion = String(revision);
      const made = contentOf(means, operation.type, marked, revision);
      stored = { key, revision, ...made };
      return made;
    },
  };
  const writing = store.write([mark]);
  if (!isLast) {
    await writing;
    return { object: marked, ...(stored && { stored }), isGone: false };
  }
  // Where the mark was accepted, its content was made at once; nobody comes between the two.
  const accepted = stored as StoredObject | undefined;
  if (accepted === undefined) await writing;
  else await Promise.all([writing, store.write([{ key, expected: accepted.revision }])]);
  return { object: marked, isGone: true };
}

function checkPreconditions(
  { group, kind }: ResourceType,
  name: string,
  { metadata }: KubeObject,
  { preconditions }: DeleteOptions,
): void {
  const { uid, resourceVersion } = preconditions ?? {};
  const resource = { group, plural: kind };
  if (uid !== undefined && uid !== metadata.uid) {
    const text = `the UID in the precondition (${uid}) does not match the UID in record (${metadata.uid}). The object might have been deleted and then recreated`;
    throw conflict(resource, name, text);
  }
  if (resourceVersion !== undefined && resourceVersion !== metadata.resourceVersion) {
    const text = `the ResourceVersion in the precondition (${resourceVersion}) does not match the ResourceVersion in record (${metadata.resourceVersion}). The object might have been modified`;
    throw conflict(resource, name, text);
  }
}
