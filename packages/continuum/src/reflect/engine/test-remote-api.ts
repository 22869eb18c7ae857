import { apiVersionOf, type Kind, type KubeObject } from "@fjord/base";
import { ApiError, type KubeClient, type ObjectKey } from "@fjord/kube";

type Fields = Record<string, unknown>;
type Stored = KubeObject & Fields;

/** One kind of an API server in memory, as strict as a real one where twins are concerned. */
export class RemoteApi {
  readonly objects = new Map<string, Stored>();
  writes = 0;
  #version = 0;
  /** Fails the next so many writes, after they were done or instead. */
  failures: ("before" | "after")[] = [];

  /** What a TwinWriter needs of a client. */
  get client(): KubeClient {
    return {
      create: (kind: Kind, object: Stored) => this.#write("create", () => this.#create(kind, object)),
      patch: (_kind: Kind, key: ObjectKey, _type: string, patch: Fields) =>
        this.#write("patch", () => this.#patch(key, patch)),
      delete: (_kind: Kind, key: ObjectKey, options: { preconditions?: { uid?: string } }) =>
        this.#write("delete", () => this.#delete(key, options.preconditions?.uid)),
      get: async (_kind: Kind, key: ObjectKey) => structuredClone(this.#found(key)),
    } as unknown as KubeClient;
  }

  put(object: Stored): void {
    const metadata = { ...object.metadata, uid: `u${++this.#version}`, resourceVersion: String(this.#version) };
    this.objects.set(keyOf(object.metadata as ObjectKey), structuredClone({ ...object, metadata }));
  }

  change(key: ObjectKey, change: (object: Stored) => void): void {
    const object = this.objects.get(keyOf(key));
    if (object === undefined) return;
    change(object);
    object.metadata.resourceVersion = String(++this.#version);
  }

  async #write<R>(verb: string, act: () => R): Promise<R> {
    this.writes++;
    const failure = this.failures.shift();
    if (failure === "before") throw refusal(verb, 500, "InternalError");
    const result = act();
    if (failure === "after") throw refusal(verb, 500, "InternalError");
    return structuredClone(result);
  }

  #create(kind: Kind, object: Stored): Stored {
    const key = keyOf(object.metadata as ObjectKey);
    if (this.objects.has(key)) throw refusal("create", 409, "AlreadyExists");
    if ((object.spec as Fields | undefined)?.taken !== undefined) throw refusal("create", 422, "Invalid");
    this.put(withDefaults({ ...object, apiVersion: apiVersionOf(kind), kind: kind.kind }));
    return this.#found(object.metadata as ObjectKey);
  }

  #patch(key: ObjectKey, patch: Fields): Stored {
    const object = this.#found(key);
    const { uid, resourceVersion } = (patch.metadata ?? {}) as { uid?: string; resourceVersion?: string };
    const isOther = uid !== undefined && uid !== object.metadata.uid;
    const isOlder = resourceVersion !== undefined && resourceVersion !== object.metadata.resourceVersion;
    if (isOther || isOlder) throw refusal("patch", 409, "Conflict");
    const patched = withDefaults(merge(structuredClone(object), patch) as Stored);
    if (fixedOf(patched) !== fixedOf(object)) throw refusal("patch", 422, "Invalid");
    patched.metadata.resourceVersion = String(++this.#version);
    this.objects.set(keyOf(key), patched);
    return patched;
  }

  #delete(key: ObjectKey, uid: string | undefined): void {
    if (uid !== undefined && this.#found(key).metadata.uid !== uid) throw refusal("delete", 409, "Conflict");
    this.objects.delete(keyOf(key));
  }

  #found(key: ObjectKey): Stored {
    const object = this.objects.get(keyOf(key));
    if (object === undefined) throw refusal("get", 404, "NotFound");
    return object;
  }
}

/** A field that this server fills in and the own one does not know. */
function withDefaults(object: Stored): Stored {
  const spec = { ...(object.spec as Fields | undefined) };
  spec.filledIn ??= "by the provider";
  return { ...object, spec };
}

/** A field that cannot be changed. */
function fixedOf({ spec }: Stored): unknown {
  return (spec as Fields | undefined)?.fixed;
}

function merge(target: unknown, patch: unknown): unknown {
  if (typeof patch !== "object" || patch === null || Array.isArray(patch)) return patch;
  const result: Fields = typeof target === "object" && target !== null ? { ...(target as Fields) } : {};
  for (const [name, value] of Object.entries(patch)) {
    if (value === null) delete result[name];
    else result[name] = merge(result[name], value);
  }
  return result;
}

function keyOf({ namespace, name }: ObjectKey): string {
  return `${namespace}/${name}`;
}

function refusal(action: string, statusCode: number, reason: string): ApiError {
  const status = { kind: "Status", apiVersion: "v1", status: "Failure", code: statusCode, reason, message: reason };
  return new ApiError({ action, statusCode, status } as unknown as ConstructorParameters<typeof ApiError>[0]);
}
