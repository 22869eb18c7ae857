import { group as fjordGroup } from "@fjord/api";
import { type KubePath, resourceName } from "./kube-path.ts";
import { flag, type KubeQuery } from "./kube-query.ts";

export type Verb = "get" | "list" | "watch" | "create" | "update" | "patch" | "delete";

/** What consumers may ask of a kind at all; RBAC may still say no. */
export interface ResourceRule {
  readonly verbs: readonly Verb[];
  /** Objects are in the tenant's own namespace, not in twin namespaces. */
  readonly inTenantNamespace?: boolean;
  /** May be listed and watched over all of the consumer's namespaces at once. */
  readonly tenantWide?: boolean;
  /** Only as an upgraded connection. */
  readonly upgrade?: boolean;
}

/** A custom resource that the provider's owner lets consumers have twins of. */
export interface CustomResource {
  readonly group: string;
  readonly resource: string;
}

const READ: readonly Verb[] = ["get", "list", "watch"];
const ALL: readonly Verb[] = [...READ, "create", "update", "patch", "delete"];
const twin: ResourceRule = { verbs: ALL, tenantWide: true };
const stream: ResourceRule = { verbs: ["get", "create"], upgrade: true };

const builtIn: Readonly<Record<string, ResourceRule>> = {
  pods: { verbs: READ, tenantWide: true },
  "pods/log": { verbs: ["get"] },
  "pods/exec": stream,
  "pods/attach": stream,
  "pods/portforward": stream,
  [`shadowpods.${fjordGroup}`]: twin,
  [`twinnamespaces.${fjordGroup}`]: { verbs: [...READ, "create", "delete"], inTenantNamespace: true },
  configmaps: twin,
  secrets: twin,
  services: twin,
  persistentvolumeclaims: twin,
  "endpointslices.discovery.k8s.io": twin,
  "ingresses.networking.k8s.io": twin,
  "networkpolicies.networking.k8s.io": twin,
  "poddisruptionbudgets.policy": twin,
  events: { verbs: READ },
  "events.events.k8s.io": { verbs: READ },
};

const builtInRules: ReadonlyMap<string, ResourceRule> = new Map(Object.entries(builtIn));

/** Which kinds the proxy knows. */
export class Rules {
  readonly #custom: () => readonly CustomResource[];

  constructor(custom: () => readonly CustomResource[] = () => []) {
    this.#custom = custom;
  }

  of(path: KubePath): ResourceRule | undefined {
    const known = builtInRules.get(resourceName(path));
    if (known !== undefined) return known;
    if (path.subresource !== undefined || isReserved(path.group)) return undefined;
    const listed = this.#custom().some(({ group, resource }) => group === path.group && resource === path.resource);
    return listed ? twin : undefined;
  }
}

/** Kubernetes' own groups and Fjord's: whatever is listed of these, it is no custom resource of the owner's. */
function isReserved(group: string): boolean {
  return !group.includes(".") || /(?:^|\.)(?:k8s\.io|kubernetes\.io|fjord\.dev)$/.test(group);
}

/** The verb of a request, as Kubernetes would name it; undefined for a method that a path of this sort does not have. */
export function verbOf(method: string, path: KubePath, query: KubeQuery): Verb | undefined {
  const named = path.name !== undefined;
  switch (method) {
    case "GET":
      if (named) return "get";
      return flag(query, "watch") ? "watch" : "list";
    case "POST":
      return named === (path.subresource !== undefined) ? "create" : undefined;
    case "PUT":
      return named ? "update" : undefined;
    case "PATCH":
      return named ? "patch" : undefined;
    case "DELETE":
      return named ? "delete" : undefined;
    default:
      return undefined;
  }
}
