export const patchContentTypes = {
    json: "application/json-patch+json",
    merge: "application/merge-patch+json",
    strategic: "application/strategic-merge-patch+json",
    // JSON is YAML, and is what every server version accepts.
    apply: "application/apply-patch+yaml",
};
export function listQuery(options) {
    return {
        labelSelector: options.labelSelector,
        fieldSelector: options.fieldSelector,
        resourceVersion: options.resourceVersion,
        resourceVersionMatch: options.resourceVersionMatch,
        limit: options.limit,
        continue: options.continue,
    };
}
export function watchQuery(options) {
    return {
        watch: true,
        labelSelector: options.labelSelector,
        fieldSelector: options.fieldSelector,
        resourceVersion: options.resourceVersion,
        resourceVersionMatch: options.resourceVersionMatch,
        sendInitialEvents: options.sendInitialEvents,
        allowWatchBookmarks: options.allowBookmarks ?? true,
        timeoutSeconds: options.timeoutSeconds,
    };
}
export function writeQuery(options) {
    return {
        dryRun: options.dryRun ? "All" : undefined,
        fieldManager: options.fieldManager,
        fieldValidation: options.fieldValidation,
    };
}
/** The body of a delete; the server takes these from the query too, but preconditions only from here. */
export function deleteBody(options) {
    return {
        apiVersion: "v1",
        kind: "DeleteOptions",
        propagationPolicy: options.propagationPolicy,
        gracePeriodSeconds: options.gracePeriodSeconds,
        preconditions: options.preconditions,
        dryRun: options.dryRun ? ["All"] : undefined,
    };
}
export function jsonBody(value, contentType = "application/json") {
    if (value === undefined)
        return {};
    return { headers: { "content-type": contentType }, body: JSON.stringify(value) };
}
