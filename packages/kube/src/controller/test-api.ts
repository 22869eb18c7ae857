import type { Kind, KubeObject } from "@fjord/base";
import { ApiError } from "../client/api-error.ts";
import type { ObjectKey, PatchType, Reader, RequestOptions, Writer } from "../client/interfaces.ts";
import { formatRequest, requestFor } from "./request.ts";

/** For tests: objects in memory behind the client's interface, with optimistic concurrency as on a server. */
export class TestApi implements Pick<Reader, "get">, Pick<Writer, "create" | "update" | "patch"> {
  readonly objects = new Map<string, KubeObject>();
  /** Each call, such as `create Event default/a.1`. */
  readonly calls: string[] = [];
  /** Awaited before a call has its effect, and again before its answer is given: to wait, or to throw. */
  onCall: (call: string, phase: "request" | "answer", signal?: AbortSignal) => void | Promise<void> = () => {};
  #version = 0;

  get<T extends KubeObject>(kind: Kind<T>, key: ObjectKey, options?: RequestOptions): Promise<T> {
    return this.#call("get", kind, key, options, () => this.#find(kind, key));
  }

  create<T extends KubeObject>(kind: Kind<T>, object: T, options?: RequestOptions): Promise<T> {
    return this.#call("create", kind, requestFor(object), options, () => {
      if (this.objects.has(idOf(kind, requestFor(object)))) throw refusal(409, "AlreadyExists");
      return this.put(kind, { ...object, metadata: { uid: `uid-${this.#version + 1}`, ...object.metadata } });
    });
  }

  update<T extends KubeObject>(kind: Kind<T>, object: T, options?: RequestOptions): Promise<T> {
    return this.#call("update", kind, requestFor(object), options, () => {
      const { resourceVersion } = this.#find(kind, requestFor(object)).metadata;
      const expected = object.metadata.resourceVersion;
      if (expected !== undefined && expected !== resourceVersion) throw refusal(409, "Conflict");
      return this.put(kind, object);
    });
  }

  patch<T extends KubeObject>(
    kind: Kind<T>,
    key: ObjectKey,
    type: PatchType,
    patch: unknown,
    options?: RequestOptions,
  ): Promise<T> {
    return this.#call("patch", kind, key, options, () => {
      const object = this.#find(kind, key);
      if (type === "merge") return this.put(kind, { ...object, ...(patch as object) });
      const copy = structuredClone(object);
      for (const step of patch as JsonStep[]) applyStep(copy, step);
      return this.put(kind, copy);
    });
  }

  put<T extends KubeObject>(kind: Kind<T>, object: T): T {
    const stored = structuredClone(object);
    stored.metadata.resourceVersion = String(++this.#version);
    this.objects.set(idOf(kind, requestFor(object)), stored);
    return structuredClone(stored);
  }

  all<T extends KubeObject>(kind: Kind<T>): T[] {
    return [...this.objects.values()].filter((object) => object.kind === kind.kind) as T[];
  }

  async #call<T>(verb: string, kind: Kind, key: ObjectKey, options: RequestOptions | undefined, act: () => T) {
    const call = `${verb} ${kind.kind} ${formatRequest(key)}`;
    this.calls.push(call);
    options?.signal?.throwIfAborted();
    await this.onCall(call, "request", options?.signal);
    const answer = act();
    await this.onCall(call, "answer", options?.signal);
    options?.signal?.throwIfAborted();
    return answer;
  }

  #find<T extends KubeObject>(kind: Kind<T>, key: ObjectKey): T {
    const object = this.objects.get(idOf(kind, key));
    if (object === undefined) throw refusal(404, "NotFound");
    return structuredClone(object) as T;
  }
}

export function refusal(statusCode: number, reason: string): ApiError {
  return new ApiError({ action: "test", statusCode, status: { reason, message: reason } });
}

interface JsonStep {
  op: "test" | "add" | "replace";
  path: string;
  value: unknown;
}

function applyStep(object: KubeObject, { op, path, value }: JsonStep): void {
  const field = path.replace("/metadata/", "");
  const metadata = object.metadata as Record<string, unknown>;
  if (op !== "test") metadata[field] = value;
  else if (JSON.stringify(metadata[field]) !== JSON.stringify(value)) throw refusal(422, "Invalid");
}

function idOf(kind: Kind, key: ObjectKey): string {
  return `${kind.kind} ${formatRequest(key)}`;
}
