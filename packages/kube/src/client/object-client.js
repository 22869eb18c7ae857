import { apiVersionOf } from "@fjord/base";
import { listPages } from "./list-pages.ts";
import { deleteBody, jsonBody, listQuery, patchContentTypes, writeQuery } from "./request-options.ts";
import { collectionPath, describeTarget, objectPath, queryString } from "./resource-path.ts";
import { watchEvents } from "./watch-events.ts";
/** The verbs that every kind has. */
export class ObjectClient {
    /** The namespace of objects of namespaced kinds that name none. */
    namespace;
    requester;
    constructor(requester, namespace) {
        this.requester = requester;
        this.namespace = namespace;
    }
    async get(kind, key, options = {}) {
        return await this.object("GET", "get", kind, key, options);
    }
    async list(kind, options = {}) {
        const list = await this.requester.list({
            method: "GET",
            path: collectionPath(kind, options.namespace) + queryString(listQuery(options)),
            action: `list ${describeTarget(kind, options)}`,
            signal: options.signal,
        });
        return withTypes(list, kind);
    }
    /** Reads page by page, 500 objects each unless `limit` says otherwise; see `listPages`. */
    listAll(kind, options = {}) {
        return listPages(this, kind, options);
    }
    watch(kind, options = {}) {
        return watchEvents(this.requester, kind, options);
    }
    async create(kind, object, options = {}) {
        const { name, generateName, namespace } = object.metadata;
        const key = this.key(kind, { name: name ?? `${generateName}*`, namespace });
        return await this.requester.json({
            method: "POST",
            path: collectionPath(kind, key.namespace) + queryString(writeQuery(options)),
            action: `create ${describeTarget(kind, key)}`,
            signal: options.signal,
            ...jsonBody(object),
        });
    }
    update(kind, object, options = {}) {
        return this.object("PUT", "update", kind, keyOf(object), options, writeQuery(options), jsonBody(object));
    }
    updateStatus(kind, object, options = {}) {
        return this.update(kind, object, { ...options, subresource: "status" });
    }
    patch(kind, key, type, patch, options = {}) {
        const body = jsonBody(patch, patchContentTypes[type]);
        return this.object("PATCH", "patch", kind, key, options, writeQuery(options), body);
    }
    apply(kind, object, options) {
        const body = jsonBody({ apiVersion: apiVersionOf(kind), kind: kind.kind, ...object }, patchContentTypes.apply);
        const query = { ...writeQuery(options), force: options.force };
        return this.object("PATCH", "apply", kind, keyOf(object), options, query, body);
    }
    async delete(kind, key, options = {}) {
        const target = this.key(kind, key);
        await this.requester.bytes({
            method: "DELETE",
            path: objectPath(kind, target),
            action: `delete ${describeTarget(kind, target)}`,
            signal: options.signal,
            ...jsonBody(deleteBody(options)),
        });
    }
    /** Deletes all that a list with the same options would show. */
    async deleteCollection(kind, options = {}) {
        await this.requester.bytes({
            method: "DELETE",
            path: collectionPath(kind, options.namespace) + queryString(listQuery(options)),
            action: `delete all ${describeTarget(kind, options)}`,
            signal: options.signal,
            ...jsonBody(deleteBody(options)),
        });
    }
    async object(method, verb, kind, key, options, query = {}, body) {
        const target = this.key(kind, key);
        const part = options.subresource === undefined ? "" : `the ${options.subresource} of `;
        return await this.requester.json({
            method,
            path: objectPath(kind, target, options.subresource) + queryString(query),
            action: `${verb} ${part}${describeTarget(kind, target)}`,
            signal: options.signal,
            ...body,
        });
    }
    /** Fills in the namespace. */
    key(kind, key) {
        const name = key.name ?? "";
        return kind.namespaced ? { name, namespace: key.namespace || this.namespace } : { name, namespace: key.namespace };
    }
}
// A real server leaves the types of built-in kinds out of a list's items, where everyone expects them.
function withTypes(list, kind) {
    list.items ??= [];
    const apiVersion = apiVersionOf(kind);
    for (const item of list.items) {
        item.apiVersion ??= apiVersion;
        item.kind ??= kind.kind;
    }
    return list;
}
function keyOf(object) {
    return { name: object.metadata?.name, namespace: object.metadata?.namespace };
}
