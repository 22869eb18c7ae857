import type { KubeObject } from "@fjord/base";
import type { Subresource } from "../kinds/resource-type.ts";
import { conflict, invalid, notFound, type StatusError } from "../status-error.ts";
import { Changed, type StoredObject } from "../store/store.ts";
import { admissionRequest, mutate, validate } from "./admission-chain.ts";
import { copyOf } from "./copy.ts";
import { createObject } from "./creation.ts";
import { manage } from "./field-ownership.ts";
import { ensureName, ensureNamespace, uniteOwners } from "./object-rules.ts";
import { contentOf } from "./object-text.ts";
import { contextOf, keyFor, type Operation, type RegistryMeans, type Written } from "./operation.ts";
import { withRules } from "./rule-checks.ts";
import { sameObject } from "./same-object.ts";
import { applyAllDefaults, fromStored, toStored } from "./versions.ts";

type View = Extract<Subresource, { type: "view" }>;

/** A change of an object, which may be tried several times where others write too. */
export interface Change {
  readonly name: string;
  /**
   * What is wanted, given a copy of what is there (a view's own kind, where it has one), both in the request's version.
   * Without `old` the object is not there: that is asked only where `createsIfMissing`.
   */
  next(old: KubeObject | undefined): KubeObject | Promise<KubeObject>;
  readonly createsIfMissing: boolean;
  /** The change has dealt with `managedFields` itself: apply. */
  readonly managed?: boolean;
}

/** Changes an object. Without a resource version in what is wanted, it is done again where somebody was faster. */
export async function changeObject(means: RegistryMeans, operation: Operation, change: Change): Promise<Written> {
  const { type, namespace } = operation;
  const key = keyFor(type, namespace, change.name);
  for (;;) {
    const current = means.store.head(key);
    if (current === undefined) {
      if (!change.createsIfMissing) throw notFound(type, change.name);
      const made = await change.next(undefined);
      ensureName(change.name, made);
      if (made.metadata.uid) throw absent(operation, change.name, made.metadata.uid);
      return createObject(means, operation, made, { managed: change.managed ?? false });
    }
    try {
      return await attempt(means, operation, change, current);
    } catch (error) {
      if (!(error instanceof Changed)) throw error;
    }
  }
}

async function attempt(
  means: RegistryMeans,
  operation: Operation,
  change: Change,
  current: StoredObject,
): Promise<Written> {
  const { type, subresource, dryRun } = operation;
  const { name } = change;
  const view = viewOf(operation);
  await operation.pace?.begin(current.json.length);
  const kept = means.read(type, current);
  const old = await fromStored(type, kept, type.version);
  const seen = await fromStored(type, old, operation.version);
  await operation.pace?.rest();
  const isOtherKind = view?.read !== undefined;
  const sent = await change.next(isOtherKind ? (view.read?.(seen) as KubeObject) : copyOf(seen));
  await operation.pace?.rest();
  ensureNamespace(operation, sent);
  ensureName(name, sent);
  checkPreconditions(operation, name, sent, old, current);
  const object = await combine(means, operation, { sent, seen, old, view, managed: change.managed ?? false });
  await operation.pace?.rest();
  const request = admissionRequest(means, operation, { operation: "UPDATE", name, object, old });
  await mutate(means.plugins, request);
  // A webhook may change much of an object, but not which it is.
  ensureNamespace(operation, object);
  ensureName(name, object);
  uniteOwners(operation, object, true);
  await prepare(means, operation, object, old, view);
  await operation.pace?.rest();
  const found = view?.validate?.(object, old) ?? [];
  // What comes by a view of another kind still has to be right as a whole.
  if (found.length === 0 && (view === undefined || isOtherKind)) {
    found.push(...(type.strategy.validateUpdate?.(object, old) ?? []));
  }
  const errors = await withRules(operation, object, old, found);
  if (errors.length > 0) throw invalid(type, name, errors);
  if (view === undefined) for (const text of type.strategy.warnings?.(object, old) ?? []) operation.warn(text);
  await operation.pace?.rest();
  const giveBack = subresource === "" ? type.strategy.reserve?.(object, old, contextOf(means, operation)) : undefined;
  let settle: ((succeeded: boolean) => void) | undefined;
  let succeeded = false;
  try {
    settle = await validate(means.plugins, request);
    await operation.pace?.rest();
    if (isLast(operation, object, old)) {
      if (!dryRun) await means.store.write([{ key: current.key, expected: current.revision }]);
      succeeded = !dryRun;
      if (!dryRun) await type.strategy.afterDelete?.(object, means.cluster);
      return { object, created: false };
    }
    // What is kept in another version is written anew, though nothing changes.
    if (kept === old && sameObject(object, old)) return { object: old, stored: current, created: false };
    if (dryRun) return { object, created: false };
    const stored = await write(means, operation, current, object);
    succeeded = true;
    return { object, stored, created: false };
  } finally {
    settle?.(succeeded);
    if (!succeeded) giveBack?.();
  }
}

/** What is wanted of the whole object, in the version that is stored. */
async function combine(
  means: RegistryMeans,
  operation: Operation,
  of: { sent: KubeObject; seen: KubeObject; old: KubeObject; view: View | undefined; managed: boolean },
): Promise<KubeObject> {
  const { sent, seen, old, view, managed } = of;
  if (view?.read !== undefined) {
    const object = copyOf(old);
    view.write(object, sent);
    const plain: Operation = { ...operation, version: operation.type.version };
    return manage(means, plain, old, object);
  }
  uniteOwners(operation, sent, false);
  applyAllDefaults(means, operation, sent);
  await operation.pace?.rest();
  const owned = managed ? sent : await manage(means, operation, seen, sent);
  const whole = await toStored(means, operation, owned);
  if (view === undefined) return whole;
  const object = copyOf(old);
  // Of custom resources a view changes its own part alone.
  if (means.isCustom(operation.type)) keepManagers(object, whole);
  else object.metadata = copyOf(whole.metadata);
  view.write(object, whole);
  return object;
}

function keepManagers({ metadata }: KubeObject, { metadata: { managedFields, resourceVersion } }: KubeObject): void {
  setOrDelete(metadata, "managedFields", managedFields);
  setOrDelete(metadata, "resourceVersion", resourceVersion);
}

function viewOf({ type, subresource }: Operation): View | undefined {
  if (subresource === "") return undefined;
  const found = type.subresources[subresource];
  return found?.type === "view" ? found : undefined;
}

/** What an update cannot change stays, and what it leaves out comes back. */
async function prepare(
  means: RegistryMeans,
  operation: Operation,
  object: KubeObject,
  old: KubeObject,
  view: View | undefined,
): Promise<void> {
  const { strategy } = operation.type;
  const { metadata } = object;
  const before = old.metadata;
  if (view === undefined || view.read !== undefined) {
    setOrDelete(metadata, "generation", before.generation);
    if (strategy.hasStatus) setOrDelete(object as KubeObject & { status?: unknown }, "status", statusOf(old));
    await strategy.prepareUpdate?.(object, old, contextOf(means, operation));
  }
  if (operation.subresource !== "status" && strategy.changesGeneration?.(object, old)) {
    metadata.generation = (before.generation ?? 0) + 1;
  }
  metadata.uid ||= before.uid;
  metadata.creationTimestamp = before.creationTimestamp;
  if (before.deletionTimestamp !== undefined) metadata.deletionTimestamp = before.deletionTimestamp;
  if (metadata.deletionGracePeriodSeconds === undefined && before.deletionGracePeriodSeconds !== undefined) {
    metadata.deletionGracePeriodSeconds = before.deletionGracePeriodSeconds;
  }
  metadata.resourceVersion = before.resourceVersion;
}

function statusOf(object: KubeObject): unknown {
  const { status } = object as { status?: unknown };
  return status === undefined ? undefined : copyOf(status);
}

function setOrDelete<T extends object, K extends keyof T>(target: T, key: K, value: T[K] | undefined): void {
  if (value === undefined) delete target[key];
  else target[key] = value;
}

function checkPreconditions(
  operation: Operation,
  name: string,
  sent: KubeObject,
  old: KubeObject,
  current: StoredObject,
): void {
  const { type } = operation;
  const { uid, resourceVersion = "" } = sent.metadata;
  if (uid && uid !== old.metadata.uid) {
    const what = `Precondition failed: UID in precondition: ${uid}, UID in object meta: ${old.metadata.uid}`;
    const storage = `StorageError: invalid object, Code: 4, Key: /registry/${current.key}, ResourceVersion: 0, AdditionalErrorMsg: ${what}`;
    throw conflict(type, name, storage);
  }
  if (resourceVersion === "" || resourceVersion === "0") {
    if (type.strategy.unconditionalUpdate !== false) return;
    const kind = { group: type.group, kind: type.plural };
    const detail = "must be specified for an update";
    throw invalid(kind, name, [{ type: "FieldValueInvalid", field: "metadata.resourceVersion", value: 0, detail }]);
  }
  if (!/^\d+$/.test(resourceVersion)) {
    const error = { type: "FieldValueInvalid", field: "metadata.resourceVersion", value: resourceVersion } as const;
    const detail = `strconv.ParseUint: parsing ${JSON.stringify(resourceVersion)}: invalid syntax`;
    throw invalid(type, name, [{ ...error, detail }]);
  }
  if (Number(resourceVersion) !== current.revision) {
    throw conflict(
      type,
      name,
      "the object has been modified; please apply your changes to the latest version and try again",
    );
  }
}

function absent({ type }: Operation, name: string, uid: string): StatusError {
  return conflict(
    type,
    name,
    `uid mismatch: the provided object specified uid ${uid}, and no existing object was found`,
  );
}

/** Whether nothing holds an object that is being deleted any more. */
function isLast({ type }: Operation, object: KubeObject, old: KubeObject): boolean {
  if ((object.metadata.finalizers ?? []).length > 0 || old.metadata.deletionTimestamp === undefined) return false;
  if ((old.metadata.deletionGracePeriodSeconds ?? 0) > 0) return false;
  return (type.strategy.finalizers?.(object) ?? []).length === 0;
}

async function write(
  means: RegistryMeans,
  operation: Operation,
  current: StoredObject,
  object: KubeObject,
): Promise<StoredObject> {
  let stored: StoredObject | undefined;
  const content = (revision: number) => {
    object.metadata.resourceVersion = String(revision);
    const made = contentOf(means, operation.type, object, revision);
    stored = { key: current.key, revision, ...made };
    return made;
  };
  await means.store.write([{ key: current.key, expected: current.revision, content }]);
  return stored as StoredObject;
}
