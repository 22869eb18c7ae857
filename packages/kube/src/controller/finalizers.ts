import type { Kind, KubeObject } from "@fjord/base";
import { isConflict, isInvalid, isNotFound } from "../client/api-error.ts";
import type { Reader, RequestOptions, Writer } from "../client/interfaces.ts";
import { FinalizerRefused, ObjectBusy, ObjectGone } from "./errors.ts";
import { formatRequest, requestFor } from "./request.ts";

type Client = Pick<Reader, "get"> & Pick<Writer, "patch">;

const ATTEMPTS = 5;

export function hasFinalizer(object: KubeObject, finalizer: string): boolean {
  return object.metadata.finalizers?.includes(finalizer) ?? false;
}

export function isBeingDeleted(object: KubeObject): boolean {
  return object.metadata.deletionTimestamp !== undefined;
}

/**
 * Makes sure that the object has the finalizer, and gives the object as it then is. No write where it has it already.
 * Whatever others do to the object meanwhile is kept.
 */
export async function addFinalizer<T extends KubeObject>(
  client: Client,
  kind: Kind<T>,
  object: T,
  finalizer: string,
  options: RequestOptions = {},
): Promise<T> {
  const changed = await changeFinalizers(client, kind, object, options, (current) => {
    if (hasFinalizer(current, finalizer)) return undefined;
    if (isBeingDeleted(current)) throw new FinalizerRefused({ finalizer, object: describe(kind, current) });
    return [...(current.metadata.finalizers ?? []), finalizer];
  });
  if (changed === undefined) throw new ObjectGone({ object: describe(kind, object) });
  return changed;
}

/**
 * Makes sure that the object no longer has the finalizer. Gives undefined where the object is gone by now, which may
 * well be the consequence. A cache may show the object once more after that: what a finalizer stands for must bear
 * being done twice.
 */
export function removeFinalizer<T extends KubeObject>(
  client: Client,
  kind: Kind<T>,
  object: T,
  finalizer: string,
  options: RequestOptions = {},
): Promise<T | undefined> {
  return changeFinalizers(client, kind, object, options, (current) =>
    hasFinalizer(current, finalizer) ? current.metadata.finalizers?.filter((name) => name !== finalizer) : undefined,
  );
}

/** Undefined from `next` means that nothing needs to change; undefined as the outcome, that the object is gone. */
async function changeFinalizers<T extends KubeObject>(
  client: Client,
  kind: Kind<T>,
  object: T,
  options: RequestOptions,
  next: (current: T) => string[] | undefined,
): Promise<T | undefined> {
  const key = requestFor(object);
  let current = object;
  for (let attempt = 1; attempt <= ATTEMPTS; attempt++) {
    const finalizers = next(current);
    if (finalizers === undefined) return current;
    try {
      return await client.patch<T>(kind, key, "json", patchOf(current, finalizers), options);
    } catch (error) {
      if (isNotFound(error)) return undefined;
      // A test that does not hold is answered as invalid.
      if (!isConflict(error) && !isInvalid(error)) throw error;
      const fresh = await reread(client, kind, object, options);
      if (fresh === undefined) return undefined;
      // The object is as it was when the patch was refused: it is not the test that failed.
      if (fresh.metadata.resourceVersion === current.metadata.resourceVersion) throw error;
      current = fresh;
    }
  }
  throw new ObjectBusy({ object: describe(kind, object), attempts: ATTEMPTS });
}

/** Holds only for this very object with these very finalizers, and leaves the rest of it free to change. */
function patchOf({ metadata }: KubeObject, finalizers: string[]): unknown[] {
  const tests: unknown[] = [];
  if (metadata.uid !== undefined) tests.push({ op: "test", path: "/metadata/uid", value: metadata.uid });
  const path = "/metadata/finalizers";
  if (metadata.finalizers === undefined || metadata.finalizers.length === 0) {
    // JSON Patch cannot test for absence by value; the resource version stands in for it.
    const version = metadata.resourceVersion;
    if (version !== undefined) tests.push({ op: "test", path: "/metadata/resourceVersion", value: version });
    return [...tests, { op: "add", path, value: finalizers }];
  }
  return [...tests, { op: "test", path, value: metadata.finalizers }, { op: "replace", path, value: finalizers }];
}

async function reread<T extends KubeObject>(
  client: Client,
  kind: Kind<T>,
  object: T,
  options: RequestOptions,
): Promise<T | undefined> {
  try {
    const fresh = await client.get<T>(kind, requestFor(object), options);
    return object.metadata.uid === undefined || fresh.metadata.uid === object.metadata.uid ? fresh : undefined;
  } catch (error) {
    if (isNotFound(error)) return undefined;
    throw error;
  }
}

function describe(kind: Kind, object: KubeObject): string {
  return `${kind.kind} ${formatRequest(requestFor(object))}`;
}
