import { randomUUID } from "node:crypto";
import type { KubeObject } from "@fjord/base";
import { alreadyExists, badRequest, invalid, StatusError } from "../status-error.ts";
import { Changed, type StoredObject } from "../store/store.ts";
import { admissionRequest, mutate, validate } from "./admission-chain.ts";
import { copyOf } from "./copy.ts";
import { manage } from "./field-ownership.ts";
import { ensureNamespace, generatedName, uniteOwners, wipeSystemFields } from "./object-rules.ts";
import { contentOf } from "./object-text.ts";
import { contextOf, keyFor, type Operation, type RegistryMeans, timestamp, type Written } from "./operation.ts";
import { withRules } from "./rule-checks.ts";
import { applyAllDefaults, toStored } from "./versions.ts";

const NAME_ATTEMPTS = 8;

/** Makes an object of what was sent, which becomes the registry's own. `managed`: its fields have their owner already. */
export async function createObject(
  means: RegistryMeans,
  operation: Operation,
  sent: KubeObject,
  { managed = false }: { managed?: boolean } = {},
): Promise<Written> {
  const { type, namespace } = operation;
  if (type.namespaced && namespace === "" && !sent.metadata.namespace) {
    throw badRequest("an empty namespace may not be set during creation");
  }
  ensureNamespace(operation, sent);
  wipeSystemFields(sent.metadata);
  uniteOwners(operation, sent, false);
  applyAllDefaults(means, operation, sent);
  await operation.pace?.rest();
  const owned = managed ? sent : await manage(means, operation, undefined, sent);
  await operation.pace?.rest();
  const object = await toStored(means, operation, owned);
  const { name = "" } = object.metadata;
  const request = admissionRequest(means, operation, { operation: "CREATE", name, object, old: undefined });
  await mutate(means.plugins, request);
  // A webhook may change much of an object, but not where it is.
  ensureNamespace(operation, object);
  uniteOwners(operation, object, true);
  const generated = name === "" && Boolean(object.metadata.generateName);
  if (!generated) return attempt(means, operation, object);
  for (let left = NAME_ATTEMPTS - 1; ; left--) {
    try {
      return await attempt(means, operation, left === 0 ? object : copyOf(object));
    } catch (error) {
      if (!(error instanceof StatusError && error.reason === "AlreadyExists") || left === 0) throw error;
    }
  }
}

async function attempt(means: RegistryMeans, operation: Operation, object: KubeObject): Promise<Written> {
  const { type, namespace, dryRun } = operation;
  const { strategy } = type;
  const { metadata } = object;
  const { clock, random } = means.cluster;
  metadata.uid = randomUUID();
  metadata.creationTimestamp = timestamp(clock.now());
  if (!metadata.name && metadata.generateName) metadata.name = generatedName(metadata.generateName, random);
  const generated = Boolean(metadata.generateName);
  if (strategy.hasStatus) delete (object as { status?: unknown }).status;
  if (strategy.changesGeneration !== undefined) metadata.generation = 1;
  await strategy.prepareCreate?.(object, contextOf(means, operation));
  await operation.pace?.rest();
  const errors = await withRules(operation, object, undefined, strategy.validate?.(object) ?? []);
  if (errors.length > 0) throw invalid(type, metadata.name ?? "", errors);
  const name = metadata.name ?? "";
  if (name === "") throw invalid(type, "", [nameRequired]);
  if (metadata.resourceVersion) throw badRequest("resourceVersion should not be set on objects to be created");
  for (const text of strategy.warnings?.(object) ?? []) operation.warn(text);
  await operation.pace?.rest();
  const giveBack = strategy.reserve?.(object, undefined, contextOf(means, operation));
  let settle: ((succeeded: boolean) => void) | undefined;
  let succeeded = false;
  try {
    const request = admissionRequest(means, operation, { operation: "CREATE", name, object, old: undefined });
    settle = await validate(means.plugins, request);
    await operation.pace?.rest();
    const key = keyFor(type, namespace, name);
    const there = means.store.head(key);
    if (there !== undefined) throw exists(means, operation, name, generated, there);
    if (dryRun) return { object, created: true };
    const stored = await write(means, operation, key, object, generated);
    succeeded = true;
    return { object, stored, created: true };
  } finally {
    settle?.(succeeded);
    if (!succeeded) giveBack?.();
  }
}

const nameRequired = {
  type: "FieldValueRequired",
  field: "metadata.name",
  detail: "name or generateName is required",
} as const;

async function write(
  means: RegistryMeans,
  operation: Operation,
  key: string,
  object: KubeObject,
  generated: boolean,
): Promise<StoredObject> {
  let stored: StoredObject | undefined;
  const content = (revision: number) => {
    object.metadata.resourceVersion = String(revision);
    const made = contentOf(means, operation.type, object, revision);
    stored = { key, revision, ...made };
    return made;
  };
  try {
    await means.store.write([{ key, expected: 0, content }]);
  } catch (error) {
    if (!(error instanceof Changed)) throw error;
    throw exists(means, operation, object.metadata.name ?? "", generated, means.store.head(key));
  }
  return stored as StoredObject;
}

function exists(
  means: RegistryMeans,
  { type }: Operation,
  name: string,
  generated: boolean,
  there: StoredObject | undefined,
): StatusError {
  const error = alreadyExists(type, name);
  if (generated) {
    const message = `${error.message}, the server was not able to generate a unique name for the object`;
    return new StatusError(409, "AlreadyExists", message, { ...error.details, retryAfterSeconds: 1 });
  }
  if (there === undefined || means.cluster.parse(there).metadata.deletionTimestamp === undefined) return error;
  return new StatusError(409, "AlreadyExists", `object is being deleted: ${error.message}`, error.details);
}
