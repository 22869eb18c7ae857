import type { KubeObject } from "@fjord/base";
import type { ObjectKey } from "../client/interfaces.ts";

/** Which object to reconcile. It says nothing of what happened: a reconciler looks at how things are. */
export type Request = ObjectKey;

export function requestFor(object: KubeObject): Request {
  const { name = "", namespace } = object.metadata;
  return namespace === undefined ? { name } : { name, namespace };
}

/** `namespace/name`, or `name` for what is cluster-scoped. */
export function formatRequest({ name, namespace }: Request): string {
  return namespace === undefined ? name : `${namespace}/${name}`;
}

export function parseRequest(key: string): Request {
  const slash = key.indexOf("/");
  if (slash === -1) return { name: key };
  return { namespace: key.slice(0, slash), name: key.slice(slash + 1) };
}
