import { isDeepStrictEqual } from "node:util";
import type { KubeObject } from "@fjord/base";
import type { ClusterRole, ClusterRoleBinding, Role, RoleBinding } from "@fjord/kube";
import type { AdmissionPlugin, AdmissionRequest } from "../admission/admission.ts";
import type { Caller } from "../cluster.ts";
import { forbidden, notFound } from "../status-error.ts";
import type { Authorizer } from "./authorizer.ts";
import { MASTERS } from "./cluster-authorizer.ts";
import { compactRules, describeRule, missingRules, type PolicyRule, quotedList } from "./policy-rule.ts";
import { RBAC_GROUP, type RoleIndex } from "./role-index.ts";

const ALL: readonly PolicyRule[] = [
  { verbs: ["*"], apiGroups: ["*"], resources: ["*"] },
  { verbs: ["*"], nonResourceURLs: ["*"] },
];

/** Nobody gives others what he has not himself, unless he has the verbs `escalate` or `bind` for it. */
export function escalationCheck(authorizer: Authorizer, roles: RoleIndex): AdmissionPlugin {
  return {
    name: "RBACEscalation",
    async validate(request) {
      const { type, caller, operation, object, old, subresource } = request;
      if (type.group !== RBAC_GROUP || subresource !== "" || caller.groups.includes(MASTERS)) return;
      if (object === undefined || (operation !== "CREATE" && operation !== "UPDATE")) return;
      if (old !== undefined && isOnlyForCollector(object, old)) return;
      if (type.plural.endsWith("bindings")) await checkBinding(request, authorizer, roles);
      else await checkRole(request, authorizer, roles);
    },
  };
}

async function checkRole(request: AdmissionRequest, authorizer: Authorizer, roles: RoleIndex): Promise<void> {
  const { caller, type, object, old, namespace } = request;
  // A create's path has no name, so it is not asked by name either.
  const name = old === undefined ? "" : request.name;
  const about = { verb: "escalate", group: RBAC_GROUP, version: "*", subresource: "", namespace };
  if ((await authorizer.authorize(caller, { ...about, resource: type.plural, name })).allowed) return;
  const role = object as Role | ClusterRole;
  const problem = escalation(caller, roles, namespace, role.rules ?? []);
  if (problem !== undefined) throw forbidden(type, role.metadata.name ?? "", problem);
  if (!gathers(role) && !gathers(old)) return;
  if (escalation(caller, roles, "", ALL) === undefined) return;
  throw forbidden(type, role.metadata.name ?? "", "must have cluster-admin privileges to use the aggregationRule");
}

async function checkBinding(request: AdmissionRequest, authorizer: Authorizer, roles: RoleIndex): Promise<void> {
  const { caller, type, object, namespace } = request;
  const { roleRef, metadata } = object as RoleBinding | ClusterRoleBinding;
  const resource = roleRef.kind === "Role" ? "roles" : "clusterroles";
  const about = { verb: "bind", group: roleRef.apiGroup ?? RBAC_GROUP, version: "*", subresource: "", namespace };
  if ((await authorizer.authorize(caller, { ...about, resource, name: roleRef.name })).allowed) return;
  const rules = roles.rulesOf(roleRef, namespace);
  // The real server says so, too: the resource of the request, and the name of the role.
  if (rules === undefined) throw notFound(type, roleRef.name);
  const problem = escalation(caller, roles, namespace, rules);
  if (problem !== undefined) throw forbidden(type, metadata.name ?? "", problem);
}

/** What is wrong with the caller giving these rules; undefined where he has them all. */
export function escalation(
  caller: Caller,
  roles: RoleIndex,
  namespace: string,
  rules: readonly PolicyRule[],
): string | undefined {
  const { rules: held, problems } = roles.grants(caller, namespace);
  const missing = missingRules(
    held.map(({ rule }) => rule),
    rules,
  );
  if (missing.length === 0) return undefined;
  const lines = [...new Set(compactRules(missing).map(describeRule))].sort();
  const who = `user ${JSON.stringify(caller.user)} (groups=${quotedList(caller.groups)})`;
  const resolution = problems.length === 0 ? "" : `; resolution errors: [${problems.join(" ")}]`;
  return `${who} is attempting to grant RBAC permissions not currently held:\n${lines.join("\n")}${resolution}`;
}

function gathers(role: KubeObject | undefined): boolean {
  return ((role as ClusterRole | undefined)?.aggregationRule?.clusterRoleSelectors ?? []).length > 0;
}

/** Whoever may not give these rules may still let the object be collected. */
function isOnlyForCollector(object: KubeObject, old: KubeObject): boolean {
  const rest = ({ metadata, ...others }: KubeObject) => {
    const { ownerReferences: _, finalizers: __, managedFields: ___, resourceVersion: ____, ...kept } = metadata;
    return { metadata: kept, ...others };
  };
  return isDeepStrictEqual(rest(object), rest(old)) && !isDeepStrictEqual(object.metadata, old.metadata);
}
