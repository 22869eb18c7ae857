import { apiVersionOf, type Kind, type KubeObject } from "@fjord/base";
import type { HttpMethod, HttpRequest } from "../transport/http.ts";
import { InvalidAddress } from "./errors.ts";
import type * as api from "./interfaces.ts";
import type { ParseItems } from "./list-decoder.ts";
import { listPages } from "./list-pages.ts";
import { parseWithoutManagedFields } from "./managed-fields-filter.ts";
import { deleteBody, jsonBody, listQuery, patchContentTypes, writeQuery } from "./request-options.ts";
import type { Requester } from "./requester.ts";
import { collectionPath, describeTarget, objectPath, type QueryValue, queryString } from "./resource-path.ts";
import { SharedFieldSets } from "./shared-field-sets.ts";
import { watchEvents } from "./watch-events.ts";

/** Names a part of an object to act on, such as `status`. */
export interface SubresourceOptions {
  subresource?: string;
}

/** The verbs that every kind has. */
export class ObjectClient implements api.Reader, api.ListWatcher, api.Writer {
  /** The namespace of objects of namespaced kinds that name none. */
  readonly namespace: string;
  protected readonly requester: Requester;
  /** Of all lists and watches, so that the pages of one share too. */
  readonly #fieldSets = new SharedFieldSets();

  constructor(requester: Requester, namespace: string) {
    this.requester = requester;
    this.namespace = namespace;
  }

  async get<T extends KubeObject = KubeObject>(
    kind: Kind<T>,
    key: api.ObjectKey,
    options: api.RequestOptions & SubresourceOptions = {},
  ): Promise<T> {
    return await this.object<T>("GET", "get", kind, key, options);
  }

  async list<T extends KubeObject = KubeObject>(
    kind: Kind<T>,
    options: api.ListOptions = {},
  ): Promise<api.ObjectList<T>> {
    const request: HttpRequest = {
      method: "GET",
      path: collectionPath(kind, options.namespace) + queryString(listQuery(options)),
      action: `list ${describeTarget(kind, options)}`,
      signal: options.signal,
    };
    const parse: ParseItems = options.omitManagedFields
      ? parseWithoutManagedFields
      : (before, text, itemsOf) => this.#fieldSets.parse(before, text, itemsOf);
    const list = await this.requester.list<api.ObjectList<T>>(request, { parse });
    return withTypes(list, kind);
  }

  /** Reads page by page, 500 objects each unless `limit` says otherwise; see `listPages`. */
  listAll<T extends KubeObject = KubeObject>(
    kind: Kind<T>,
    options: api.ListOptions = {},
  ): AsyncIterable<api.ObjectList<T>> {
    return listPages(this, kind, options);
  }

  watch<T extends KubeObject = KubeObject>(
    kind: Kind<T>,
    options: api.WatchOptions = {},
  ): AsyncIterable<api.WatchEvent<T>> {
    return watchEvents(this.requester, kind, options, this.#fieldSets);
  }

  async create<T extends KubeObject>(kind: Kind<T>, object: NoInfer<T>, options: api.WriteOptions = {}): Promise<T> {
    const { name, generateName, namespace } = object.metadata;
    const key = this.key(kind, { name: name ?? `${generateName}*`, namespace });
    return await this.requester.json<T>({
      method: "POST",
      path: collectionPath(kind, key.namespace) + queryString(writeQuery(options)),
      action: `create ${describeTarget(kind, key)}`,
      signal: options.signal,
      ...jsonBody(object),
    });
  }

  update<T extends KubeObject>(
    kind: Kind<T>,
    object: NoInfer<T>,
    options: api.WriteOptions & SubresourceOptions = {},
  ): Promise<T> {
    return this.object<T>("PUT", "update", kind, keyOf(object), options, writeQuery(options), jsonBody(object));
  }

  updateStatus<T extends KubeObject>(kind: Kind<T>, object: NoInfer<T>, options: api.WriteOptions = {}): Promise<T> {
    return this.update(kind, object, { ...options, subresource: "status" });
  }

  patch<T extends KubeObject>(
    kind: Kind<T>,
    key: api.ObjectKey,
    type: api.PatchType,
    patch: unknown,
    options: api.WriteOptions & SubresourceOptions = {},
  ): Promise<T> {
    const body = jsonBody(patch, patchContentTypes[type]);
    return this.object<T>("PATCH", "patch", kind, key, options, writeQuery(options), body);
  }

  apply<T extends KubeObject>(
    kind: Kind<T>,
    object: api.ApplyConfiguration<NoInfer<T>>,
    options: api.ApplyOptions & SubresourceOptions,
  ): Promise<T> {
    const body = jsonBody({ apiVersion: apiVersionOf(kind), kind: kind.kind, ...object }, patchContentTypes.apply);
    const query = { ...writeQuery(options), force: options.force };
    return this.object<T>("PATCH", "apply", kind, keyOf(object as Partial<KubeObject>), options, query, body);
  }

  async delete<T extends KubeObject>(
    kind: Kind<T>,
    key: api.ObjectKey,
    options: api.DeleteOptions = {},
  ): Promise<void> {
    const target = this.key(kind, key);
    await this.requester.bytes({
      method: "DELETE",
      path: objectPath(kind, target),
      action: `delete ${describeTarget(kind, target)}`,
      signal: options.signal,
      ...jsonBody(deleteBody(options)),
    });
  }

  /** Deletes all that a list with the same options would show, in one namespace: the configured one if none is named. */
  async deleteCollection<T extends KubeObject>(
    kind: Kind<T>,
    options: api.DeleteOptions & Pick<api.ListOptions, "namespace" | "labelSelector" | "fieldSelector"> = {},
  ): Promise<void> {
    const namespace = options.namespace ?? (kind.namespaced ? this.namespace : undefined);
    // A variable that was never set must not mean every namespace there is.
    if (namespace === "") {
      throw new InvalidAddress({ target: `all ${kind.kind} objects to delete`, reason: "the namespace is empty" });
    }
    await this.requester.bytes({
      method: "DELETE",
      path: collectionPath(kind, namespace) + queryString(listQuery(options)),
      action: `delete all ${describeTarget(kind, { namespace })}`,
      signal: options.signal,
      ...jsonBody(deleteBody(options)),
    });
  }

  protected async object<R>(
    method: HttpMethod,
    verb: string,
    kind: Kind,
    key: Partial<api.ObjectKey>,
    options: api.RequestOptions & SubresourceOptions,
    query: Record<string, QueryValue> = {},
    body?: Pick<HttpRequest, "headers" | "body">,
  ): Promise<R> {
    const target = this.key(kind, key);
    const part = options.subresource === undefined ? "" : `the ${options.subresource} of `;
    return await this.requester.json<R>({
      method,
      path: objectPath(kind, target, options.subresource) + queryString(query),
      action: `${verb} ${part}${describeTarget(kind, target)}`,
      signal: options.signal,
      ...body,
    });
  }

  /** Fills in the namespace. */
  protected key(kind: Kind, key: Partial<api.ObjectKey>): api.ObjectKey {
    const name = key.name ?? "";
    return kind.namespaced ? { name, namespace: key.namespace || this.namespace } : { name, namespace: key.namespace };
  }
}

// A real server leaves the types of built-in kinds out of a list's items, where everyone expects them.
function withTypes<T extends KubeObject>(list: api.ObjectList<T>, kind: Kind<T>): api.ObjectList<T> {
  list.metadata ??= {};
  list.items ??= [];
  const apiVersion = apiVersionOf(kind);
  for (const item of list.items) {
    item.apiVersion ??= apiVersion;
    item.kind ??= kind.kind;
  }
  return list;
}

function keyOf(object: { metadata?: { name?: string; namespace?: string } }): Partial<api.ObjectKey> {
  return { name: object.metadata?.name, namespace: object.metadata?.namespace };
}
