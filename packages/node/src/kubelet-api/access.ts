/** Who asks. */
export interface User {
  readonly name: string;
  readonly groups: readonly string[];
  readonly uid?: string;
  readonly extra?: Readonly<Record<string, readonly string[]>>;
}

/** What of the node someone wants; one of the subresources is enough. */
export interface AccessQuestion {
  readonly verb: string;
  /** The finest one first. */
  readonly subresources: readonly string[];
}

const VERBS: Readonly<Record<string, string>> = {
  GET: "get",
  POST: "create",
  PUT: "update",
  PATCH: "patch",
  DELETE: "delete",
};

/** Subresources by the first part of a path, as kubelets map them; `proxy` is what once stood for all. */
const SUBRESOURCES: Readonly<Record<string, readonly string[]>> = {
  stats: ["stats"],
  metrics: ["metrics"],
  logs: ["log"],
  checkpoint: ["checkpoint"],
  statusz: ["statusz"],
  flagz: ["configz"],
  pods: ["pods", "proxy"],
  runningpods: ["pods", "proxy"],
  healthz: ["healthz", "proxy"],
  configz: ["configz", "proxy"],
};

/** Which rights a request needs. Whatever is not known needs the right to everything. */
export function accessQuestion(method: string, path: string): AccessQuestion {
  const root = path.split("/")[1] ?? "";
  const subresources = Object.hasOwn(SUBRESOURCES, root) ? SUBRESOURCES[root] : undefined;
  return { verb: VERBS[method] ?? method.toLowerCase(), subresources: subresources ?? ["proxy"] };
}
