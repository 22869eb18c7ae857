import type { Kind, KubeObject } from "@fjord/base";
import type { CacheRoom } from "../cache/cache-room.ts";

/** Names one object. `namespace` is left out for cluster-scoped kinds. */
export interface ObjectKey {
  readonly name: string;
  readonly namespace?: string;
}

export interface RequestOptions {
  signal?: AbortSignal;
}

export interface ListOptions extends RequestOptions {
  /** Absent: all namespaces. */
  namespace?: string;
  labelSelector?: string;
  fieldSelector?: string;
  resourceVersion?: string;
  resourceVersionMatch?: "NotOlderThan" | "Exact";
  /** Objects per page. */
  limit?: number;
  /** Where the page before ended. */
  continue?: string;
  /**
   * Leaves `metadata.managedFields` out before objects are made of them. Where they are kept, equal `fieldsV1` of several
   * objects are one frozen object. @default false
   */
  omitManagedFields?: boolean;
}

export interface ObjectList<T> {
  apiVersion: string;
  kind: string;
  metadata: { resourceVersion?: string; continue?: string; remainingItemCount?: number };
  items: T[];
}

export interface WatchOptions extends RequestOptions {
  namespace?: string;
  labelSelector?: string;
  fieldSelector?: string;
  resourceVersion?: string;
  resourceVersionMatch?: "NotOlderThan";
  /** Begins with an ADDED event for each object there is, then a bookmark: a list by watch. */
  sendInitialEvents?: boolean;
  /** @default true */
  allowBookmarks?: boolean;
  /** Asks the server to end the watch cleanly after this time. */
  timeoutSeconds?: number;
  /** Fails the watch when nothing at all, not even a bookmark, arrives for this long. */
  idleTimeoutMs?: number;
  /** As of `ListOptions`. @default false */
  omitManagedFields?: boolean;
}

export type WatchEvent<T> =
  | { type: "ADDED" | "MODIFIED" | "DELETED"; object: T }
  /** Carries nothing but a resource version to continue from. */
  | { type: "BOOKMARK"; object: { metadata: { resourceVersion: string; annotations?: Record<string, string> } } };

export interface WriteOptions extends RequestOptions {
  dryRun?: boolean;
  fieldManager?: string;
  fieldValidation?: "Ignore" | "Warn" | "Strict";
}

export interface ApplyOptions extends WriteOptions {
  fieldManager: string;
  /** Takes fields over from other managers. */
  force?: boolean;
}

export interface DeleteOptions extends RequestOptions {
  propagationPolicy?: "Foreground" | "Background" | "Orphan";
  gracePeriodSeconds?: number;
  preconditions?: { uid?: string; resourceVersion?: string };
  dryRun?: boolean;
}

/** The fields of an object that someone wants to own, however few; a list is given whole. */
export type ApplyConfiguration<T> = T extends readonly unknown[]
  ? T
  : T extends object
    ? { [K in keyof T]?: ApplyConfiguration<T[K]> }
    : T;

export type PatchType = "json" | "merge" | "strategic";

/** Reading. Everything that only looks takes one of these. */
export interface Reader {
  get<T extends KubeObject = KubeObject>(kind: Kind<T>, key: ObjectKey, options?: RequestOptions): Promise<T>;
  /** One page, or everything when `limit` is absent. */
  list<T extends KubeObject = KubeObject>(kind: Kind<T>, options?: ListOptions): Promise<ObjectList<T>>;
}

/** The two calls that a reflector lives on. */
export interface ListWatcher extends Pick<Reader, "list"> {
  /** What caches of the server may take together; absent where it is trusted. */
  readonly room?: CacheRoom | undefined;
  /**
   * Ends without an error when the server closes cleanly. Throws `ApiError` for a refusal, on open or as an ERROR event
   * in the stream (410 among them), and a connection error for a reset, a truncated line or a silent peer.
   */
  watch<T extends KubeObject = KubeObject>(kind: Kind<T>, options?: WatchOptions): AsyncIterable<WatchEvent<T>>;
}

export interface Writer {
  create<T extends KubeObject>(kind: Kind<T>, object: NoInfer<T>, options?: WriteOptions): Promise<T>;
  /** Replaces the object; `metadata.resourceVersion`, where given, must still be the current one. */
  update<T extends KubeObject>(kind: Kind<T>, object: NoInfer<T>, options?: WriteOptions): Promise<T>;
  updateStatus<T extends KubeObject>(kind: Kind<T>, object: NoInfer<T>, options?: WriteOptions): Promise<T>;
  patch<T extends KubeObject>(
    kind: Kind<T>,
    key: ObjectKey,
    type: PatchType,
    patch: unknown,
    options?: WriteOptions & { subresource?: string },
  ): Promise<T>;
  /** Server-side apply. */
  apply<T extends KubeObject>(
    kind: Kind<T>,
    object: ApplyConfiguration<NoInfer<T>>,
    options: ApplyOptions & { subresource?: string },
  ): Promise<T>;
  /** Resolves when the server has accepted the deletion; finalizers may keep the object for longer. */
  delete<T extends KubeObject>(kind: Kind<T>, key: ObjectKey, options?: DeleteOptions): Promise<void>;
}
