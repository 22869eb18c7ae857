import type { HttpRequest } from "../transport/http.ts";
import type { DeleteOptions, ListOptions, PatchType, WatchOptions, WriteOptions } from "./interfaces.ts";
import type { QueryValue } from "./resource-path.ts";

export const patchContentTypes: Record<PatchType | "apply", string> = {
  json: "application/json-patch+json",
  merge: "application/merge-patch+json",
  strategic: "application/strategic-merge-patch+json",
  // JSON is YAML, and is what every server version accepts.
  apply: "application/apply-patch+yaml",
};

export function listQuery(options: ListOptions): Record<string, QueryValue> {
  return {
    labelSelector: options.labelSelector,
    fieldSelector: options.fieldSelector,
    resourceVersion: options.resourceVersion,
    resourceVersionMatch: options.resourceVersionMatch,
    limit: options.limit,
    continue: options.continue,
  };
}

export function watchQuery(options: WatchOptions): Record<string, QueryValue> {
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

export function writeQuery(options: WriteOptions): Record<string, QueryValue> {
  return {
    dryRun: options.dryRun ? "All" : undefined,
    fieldManager: options.fieldManager,
    fieldValidation: options.fieldValidation,
  };
}

/** The body of a delete; the server takes these from the query too, but preconditions only from here. */
export function deleteBody(options: DeleteOptions): Record<string, unknown> {
  return {
    apiVersion: "v1",
    kind: "DeleteOptions",
    propagationPolicy: options.propagationPolicy,
    gracePeriodSeconds: options.gracePeriodSeconds,
    preconditions: options.preconditions,
    dryRun: options.dryRun ? ["All"] : undefined,
  };
}

export function jsonBody(value: unknown, contentType = "application/json"): Pick<HttpRequest, "headers" | "body"> {
  if (value === undefined) return {};
  return { headers: { "content-type": contentType }, body: JSON.stringify(value) };
}
