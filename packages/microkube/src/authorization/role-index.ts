import type { KubeObject } from "@fjord/base";
import type { ClusterRole, ClusterRoleBinding, Role, RoleBinding } from "@fjord/kube";
import type { Caller, Cluster } from "../cluster.ts";
import { typeOf } from "../cluster-objects.ts";
import type { PolicyRule } from "./policy-rule.ts";

export const RBAC_GROUP = "rbac.authorization.k8s.io";

/** A rule that applies to somebody, and by what. */
export interface GrantedRule {
  readonly rule: PolicyRule;
  /** `ClusterRoleBinding "a" of ClusterRole "b" to Group "c"`. */
  readonly source: string;
}

export interface Grants {
  readonly rules: readonly GrantedRule[];
  /** Roles that bindings name and that are not there. */
  readonly problems: readonly string[];
}

type Binding = ClusterRoleBinding | RoleBinding;
interface Bound {
  readonly binding: Binding;
  /** `User "jane"`. */
  readonly to: string;
}

const CACHED = 2000;
/** Whoever has more of them, which no certificate has room for, is not remembered. */
const MOST_GROUPS = 200;

/** All Roles and bindings, by whom they are for: what applies to a caller is found without a walk through all. */
export class RoleIndex {
  /** `shop/reader`, `/cluster-admin`. */
  readonly #rules = new Map<string, readonly PolicyRule[]>();
  /** By namespace (empty for the whole cluster), then by subject: `User:jane`, `Group:ops`. */
  readonly #bound = new Map<string, Map<string, Map<string, Bound>>>();
  readonly #subjects = new Map<string, readonly string[]>();
  readonly #cache = new Map<string, Grants>();

  /** Follows the cluster from now on; returns what ends it. */
  follow(cluster: Cluster): () => void {
    const follow = (kind: string, put: (object: KubeObject) => void, remove: (object: KubeObject) => void) =>
      cluster.follow(typeOf(cluster, RBAC_GROUP, kind), ({ type, object }) => {
        this.#cache.clear();
        (type === "DELETED" ? remove : put)(object);
      });
    const putRole = (object: KubeObject) => this.#rules.set(keyOf(object), (object as Role | ClusterRole).rules ?? []);
    const removeRole = (object: KubeObject) => this.#rules.delete(keyOf(object));
    const putBinding = (object: KubeObject) => this.#putBinding(object as Binding);
    const removeBinding = (object: KubeObject) => this.#removeBinding(keyOf(object));
    const ends = [
      follow("ClusterRole", putRole, removeRole),
      follow("Role", putRole, removeRole),
      follow("ClusterRoleBinding", putBinding, removeBinding),
      follow("RoleBinding", putBinding, removeBinding),
    ];
    return () => {
      for (const end of ends) end();
    };
  }

  /** What the caller may do in a namespace; with an empty one, in all of them. */
  grants(caller: Caller, namespace: string): Grants {
    // Names may hold anything: no mark between them would tell one caller from every other.
    const key =
      caller.groups.length > MOST_GROUPS ? undefined : JSON.stringify([namespace, caller.user, caller.groups]);
    if (key === undefined) return this.#find(caller, namespace);
    const known = this.#cache.get(key);
    if (known !== undefined) return known;
    const grants = this.#find(caller, namespace);
    if (this.#cache.size >= CACHED) this.#cache.clear();
    this.#cache.set(key, grants);
    return grants;
  }

  /** The rules of a role that a binding names; undefined where it is not there. */
  rulesOf({ kind, name }: { kind: string; name: string }, namespace: string): readonly PolicyRule[] | undefined {
    return this.#rules.get(kind === "ClusterRole" ? `/${name}` : `${namespace}/${name}`);
  }

  #find(caller: Caller, namespace: string): Grants {
    const subjects = [`User:${caller.user}`, ...caller.groups.map((group) => `Group:${group}`)];
    const rules: GrantedRule[] = [];
    const problems = new Set<string>();
    for (const place of namespace === "" ? [""] : ["", namespace]) {
      const seen = new Set<string>();
      for (const subject of subjects) {
        for (const [key, { binding, to }] of this.#bound.get(place)?.get(subject) ?? []) {
          if (seen.has(key)) continue;
          seen.add(key);
          const found = this.rulesOf(binding.roleRef, place);
          if (found === undefined) problems.add(notThere(binding.roleRef));
          else rules.push(...found.map((rule) => ({ rule, source: `${describe(binding)} to ${to}` })));
        }
      }
    }
    return { rules, problems: [...problems] };
  }

  #putBinding(binding: Binding): void {
    const key = keyOf(binding);
    this.#removeBinding(key);
    const { namespace = "" } = binding.metadata;
    const here = this.#bound.get(namespace) ?? new Map<string, Map<string, Bound>>();
    this.#bound.set(namespace, here);
    const subjects: string[] = [];
    for (const { kind, name, namespace: of = namespace } of binding.subjects ?? []) {
      const isAccount = kind === "ServiceAccount";
      if (isAccount && of === "") continue;
      const subject = isAccount ? `User:system:serviceaccount:${of}:${name}` : `${kind}:${name}`;
      const to = `${kind} ${JSON.stringify(isAccount ? `${name}/${of}` : name)}`;
      const bindings = here.get(subject) ?? new Map<string, Bound>();
      here.set(subject, bindings);
      if (!bindings.has(key)) bindings.set(key, { binding, to });
      subjects.push(subject);
    }
    this.#subjects.set(key, subjects);
  }

  #removeBinding(key: string): void {
    const place = key.slice(0, key.indexOf("/"));
    const here = this.#bound.get(place);
    for (const subject of this.#subjects.get(key) ?? []) {
      const bindings = here?.get(subject);
      bindings?.delete(key);
      if (bindings?.size === 0) here?.delete(subject);
    }
    if (here?.size === 0) this.#bound.delete(place);
    this.#subjects.delete(key);
  }
}

const keyOf = ({ metadata }: KubeObject) => `${metadata.namespace ?? ""}/${metadata.name}`;

function describe({ metadata: { name, namespace }, roleRef }: Binding): string {
  const of = `of ${roleRef.kind} ${JSON.stringify(roleRef.name)}`;
  return namespace === undefined
    ? `ClusterRoleBinding ${JSON.stringify(name)} ${of}`
    : `RoleBinding ${JSON.stringify(`${name}/${namespace}`)} ${of}`;
}

const notThere = ({ kind, name }: { kind: string; name: string }) =>
  `${kind.toLowerCase()}.${RBAC_GROUP} ${JSON.stringify(name)} not found`;
