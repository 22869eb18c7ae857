import type { KubeObject } from "@fjord/base";
import { finish, type Steps } from "../pace.ts";
import { withEmptyFieldsSettled } from "../schema/empty-fields.ts";
import type { Schema } from "../schema/schema.ts";
import { badRequest, StatusError } from "../status-error.ts";
import { checkConfig, NotTyped } from "./check-config.ts";
import { type Conflict, conflictError, conflictsOf } from "./conflict.ts";
import { FieldSet } from "./field-set.ts";
import { equal, sorted } from "./json-value.ts";
import {
  capUpdaters,
  identityOf,
  type Manager,
  type Managers,
  readManagers,
  withoutOwnFields,
  writeManagers,
} from "./managers.ts";
import type { ApplyRequest, FieldManager, Patches, ResetFields } from "./patch.ts";
import { NoPlace } from "./shape.ts";
import { mergeTyped, removeFields } from "./typed-merge.ts";
import { type Comparison, compare, toFieldSet, withNamedFields } from "./typed-sets.ts";

const LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration";

/** `managedFields` after a create or an update turned `old` into `next`. */
export function updateManagedFields(...of: ManagedUpdate): KubeObject {
  return finish(updateManagedFieldsSteps(...of));
}

type ManagedUpdate = Parameters<Patches["updateManagedFields"]>;

export function* updateManagedFieldsSteps(...of: ManagedUpdate): Steps<KubeObject> {
  const [old, next, schema, by, resetFields = []] = of;
  const managers = managersBefore(old, next, by);
  // Whoever wiped the managers of an object wants none: only an apply begins anew.
  if (managers.size === 0 && old?.metadata.uid !== undefined) return withManagers(next, managers);
  const live = old === undefined ? emptyForm(next, schema) : typedForm(old, schema);
  yield;
  try {
    yield* recordUpdate(live, typedForm(next, schema), schema, managers, by, resetFields);
  } catch (error) {
    if (!(error instanceof NoPlace)) throw error;
    // The real server, too, then does without: an update is not refused for it.
    return withManagers(next, new Map());
  }
  yield;
  capUpdaters(managers);
  return withManagers(next, managers);
}

/** Who managed before: as the writer says, unless that is nothing or wrong, or it writes a subresource. */
function managersBefore(old: KubeObject | undefined, next: KubeObject, by: FieldManager): Managers {
  const live = () => readManagers(old?.metadata.managedFields) ?? new Map();
  if (by.subresource !== undefined) return live();
  const sent = next.metadata.managedFields;
  if (sent !== undefined && (sent.length === 0 || (sent.length === 1 && isBlank(sent[0])))) return new Map();
  const managers = readManagers(sent);
  return managers === undefined || managers.size === 0 ? live() : managers;
}

function isBlank(entry: unknown): boolean {
  return typeof entry === "object" && entry !== null && Object.keys(entry).length === 0;
}

const emptyObject = ({ apiVersion, kind }: KubeObject): KubeObject => ({ apiVersion, kind, metadata: {} });

const emptyForms = new WeakMap<Schema, KubeObject>();

/** What an object is before anything is set; which kind it is of does not count. */
function emptyForm(of: KubeObject, schema: Schema): KubeObject {
  let form = emptyForms.get(schema);
  if (form === undefined) {
    form = typedForm(emptyObject(of), schema);
    emptyForms.set(schema, form);
  }
  return form;
}

/** An object as its types have it, without what is told of its managers. */
function typedForm(object: KubeObject, schema: Schema): KubeObject {
  const { managedFields: _, ...metadata } = object.metadata;
  const plain = { ...object, metadata };
  return schema.name === undefined ? plain : (withEmptyFieldsSettled(plain, schema) as KubeObject);
}

function withManagers(object: KubeObject, managers: Managers): KubeObject {
  const { managedFields: _, ...metadata } = object.metadata;
  const managedFields = writeManagers(managers);
  return { ...object, metadata: { ...metadata, ...(managedFields && { managedFields }) } };
}

function* recordUpdate(
  live: KubeObject,
  next: KubeObject,
  schema: Schema,
  managers: Managers,
  by: FieldManager,
  resetFields: ResetFields,
): Steps<void> {
  yield;
  const changes = compareWithout(live, next, schema, resetFields);
  yield;
  const changed = changes.modified.union(changes.added);
  takeFrom(managers, changed, changes.removed);
  const set = withoutOwnFields(changed);
  if (set.empty) return;
  // The real server keeps no time of who scales.
  const manager = { ...managerOf(by, "Update"), set, time: by.subresource === "scale" ? undefined : by.time };
  const identity = identityOf(manager);
  const before = managers.get(identity);
  managers.set(identity, before === undefined ? manager : { ...manager, set: set.union(before.set) });
}

function managerOf(by: FieldManager, operation: Manager["operation"]): Manager {
  const { name, apiVersion, subresource = "" } = by;
  return { name: name || "unknown", operation, apiVersion, subresource, time: undefined, set: new FieldSet() };
}

function resetSet(resetFields: ResetFields): FieldSet {
  const set = new FieldSet();
  for (const path of resetFields) set.insert(path.map((name) => `f:${name}`));
  return set;
}

function compareWithout(before: unknown, after: unknown, schema: Schema, resetFields: ResetFields): Comparison {
  const changes = compare(before, after, schema);
  if (resetFields.length === 0) return changes;
  const reset = resetSet(resetFields);
  return {
    added: changes.added.without(reset),
    modified: changes.modified.without(reset),
    removed: changes.removed.without(reset),
  };
}

function takeFrom(managers: Managers, changed: FieldSet, removed: FieldSet, except?: string): void {
  for (const [identity, manager] of managers) {
    if (identity === except) continue;
    const set = manager.set.difference(changed).difference(removed);
    if (set.empty) managers.delete(identity);
    else managers.set(identity, { ...manager, set });
  }
}

/** Server-side apply: the object with the manager's fields as it wants them, and `managedFields` to match. */
export function apply(request: ApplyRequest): KubeObject {
  return finish(applySteps(request));
}

export function* applySteps(request: ApplyRequest): Steps<KubeObject> {
  const { live, config, schema, manager: by } = request;
  checkHead(config, by);
  checkTypes(config, schema);
  yield;
  const managers = readManagers(live?.metadata.managedFields);
  if (managers === undefined) throw new StatusError(500, "InternalError", "failed to decode managed fields");
  yield;
  const base = typedForm(live ?? emptyObject(config), schema);
  yield;
  if (managers.size === 0) {
    const before = { ...by, name: "before-first-apply" };
    const { subresource: _, ...whole } = before;
    const empty = typedForm(emptyObject(config), schema);
    yield* recordUpdate(empty, base, schema, managers, whole, request.resetFields ?? []);
    capUpdaters(managers);
  }
  const identity = identityOf(managerOf(by, "Apply"));
  const result = yield* merged(request, base, managers, identity);
  const next = result.object ?? base;
  const mine = managers.get(identity);
  if (mine !== undefined) {
    const set = withoutOwnFields(mine.set);
    const time = result.object === undefined ? result.time : by.time;
    if (set.empty) managers.delete(identity);
    else managers.set(identity, { ...mine, set, time });
  }
  yield;
  return withManagers(withLastApplied(next, config, by), managers);
}

function checkHead(config: KubeObject, { apiVersion }: FieldManager): void {
  if (config.apiVersion !== apiVersion) {
    throw badRequest(
      `Incorrect version specified in apply patch. Specified patch version: ${config.apiVersion}, expected: ${apiVersion}`,
    );
  }
  if (config.metadata?.managedFields !== undefined && config.metadata.managedFields !== null) {
    throw badRequest("metadata.managedFields must be nil");
  }
}

/** `object` is undefined if nothing changes; then `time` is when the manager last changed something. */
function* merged(
  { config, schema, manager: by, force, resetFields = [] }: ApplyRequest,
  live: KubeObject,
  managers: Managers,
  identity: string,
): Steps<{ object?: KubeObject; time: string | undefined }> {
  const last = managers.get(identity);
  const set = toFieldSet(config, schema).without(resetSet(resetFields));
  managers.set(identity, { ...managerOf(by, "Apply"), set, time: last?.time });
  yield;
  const whole = mergeTyped(live, config, schema) as KubeObject;
  yield;
  const object = yield* prune(whole, schema, managers, last?.set);
  yield;
  const changes = compareWithout(live, object, schema, resetFields);
  yield;
  const changed = changes.modified.union(changes.added);
  const conflicts = conflictsOf(
    [...managers]
      .filter(([one]) => one !== identity)
      .map(([, manager]) => ({ manager, set: manager.set.intersection(changed) })),
  );
  if (!force) refuse(conflicts, live, schema, by);
  yield;
  takeFrom(managers, changed, changes.removed, identity);
  yield;
  return equal(live, object) ? { time: last?.time } : { object, time: undefined };
}

/** kubectl may take over what it applied itself, before the server did that. */
function refuse(conflicts: readonly Conflict[], live: KubeObject, schema: Schema, by: FieldManager): void {
  if (conflicts.length === 0) return;
  const allowed = by.name === "kubectl" ? lastAppliedFields(live, schema) : undefined;
  const left = allowed === undefined ? conflicts : conflicts.filter(({ path }) => !allowed.has(path));
  if (left.length > 0) throw conflictError(left);
}

function lastAppliedFields(live: KubeObject, schema: Schema): FieldSet | undefined {
  const text = live.metadata.annotations?.[LAST_APPLIED];
  if (!text) return undefined;
  try {
    const applied = JSON.parse(text) as KubeObject;
    if (applied.apiVersion !== live.apiVersion) return undefined;
    const { modified, added, removed } = compare(applied, live, schema);
    return toFieldSet(applied, schema).difference(modified).difference(added).difference(removed);
  } catch {
    return undefined;
  }
}

/** Takes out what the manager applied before, does not apply now, and nobody else owns. */
function* prune(object: KubeObject, schema: Schema, managers: Managers, last: FieldSet | undefined): Steps<KubeObject> {
  if (last === undefined || last.empty) return object;
  const named = (set: FieldSet) => withNamedFields(set, schema);
  const before = named(last);
  yield;
  const owned = [...managers.values()].reduce((all, { set }) => all.union(set), new FieldSet());
  yield;
  const all = named(toFieldSet(object, schema));
  yield;
  const removed = removeFields(object, before, schema);
  yield;
  const left = named(toFieldSet(removed, schema));
  yield;
  const kept = left.union(named(owned));
  yield;
  const pruned = removeFields(object, all.difference(kept), schema);
  yield;
  const gone = all.difference(named(toFieldSet(pruned, schema))).intersection(before);
  yield;
  return removeFields(object, gone, schema) as KubeObject;
}

/** Where kubectl still keeps what it applied, that stays true. */
function withLastApplied(object: KubeObject, config: KubeObject, { name }: FieldManager): KubeObject {
  const annotations = object.metadata.annotations;
  if (name !== "kubectl" || !annotations?.[LAST_APPLIED]) return object;
  const { [LAST_APPLIED]: _, ...rest } = config.metadata.annotations ?? {};
  const metadata = { ...config.metadata, annotations: rest };
  if (Object.keys(rest).length === 0) delete (metadata as { annotations?: unknown }).annotations;
  const text = `${JSON.stringify(sorted({ ...config, metadata }))}\n`;
  return { ...object, metadata: { ...object.metadata, annotations: { ...annotations, [LAST_APPLIED]: text } } };
}

/** The real server answers 500 here, although it is the client's mistake: the words are its own. */
function checkTypes(config: KubeObject, schema: Schema): void {
  try {
    checkConfig(config, schema);
  } catch (error) {
    if (!(error instanceof NotTyped)) throw error;
    const { apiVersion, kind, metadata } = config;
    const named = `${metadata?.namespace ?? ""}/${metadata?.name ?? ""}; ${apiVersion}, Kind=${kind}`;
    throw new StatusError(400, "", `failed to create typed patch object (${named}): ${error.message}`);
  }
}
