import type { Attributes } from "../authorization/authorizer.ts";
import type { Caller } from "../cluster.ts";

/** How much of a request is written down, from nothing to both bodies. */
export const LEVELS = ["None", "Metadata", "Request", "RequestResponse"] as const;
export type Level = (typeof LEVELS)[number];

export const STAGES = ["RequestReceived", "ResponseStarted", "ResponseComplete", "Panic"] as const;
export type Stage = (typeof STAGES)[number];

/** Which requests are written down, and how (audit.k8s.io/v1 Policy): the first rule that fits decides. */
export interface AuditPolicy {
  readonly rules: readonly AuditRule[];
  readonly omitStages?: readonly Stage[];
  readonly omitManagedFields?: boolean;
}

export interface AuditRule {
  readonly level: Level;
  readonly users?: readonly string[];
  readonly userGroups?: readonly string[];
  readonly verbs?: readonly string[];
  readonly resources?: readonly GroupResources[];
  readonly namespaces?: readonly string[];
  readonly nonResourceURLs?: readonly string[];
  readonly omitStages?: readonly Stage[];
  readonly omitManagedFields?: boolean;
}

export interface GroupResources {
  readonly group?: string;
  readonly resources?: readonly string[];
  readonly resourceNames?: readonly string[];
}

/** What a policy says of one request. */
export interface AuditDecision {
  readonly level: Level;
  readonly omitStages: ReadonlySet<Stage>;
  readonly omitManagedFields: boolean;
}

/** `caller` is who has asked, not whom they act as; undefined: nobody that is known. */
export function decide(policy: AuditPolicy, caller: Caller | undefined, attributes: Attributes): AuditDecision {
  const rule = policy.rules.find((one) => fits(one, caller, attributes));
  return {
    level: rule?.level ?? "None",
    omitStages: new Set([...(policy.omitStages ?? []), ...(rule?.omitStages ?? [])]),
    omitManagedFields: rule?.omitManagedFields ?? policy.omitManagedFields ?? false,
  };
}

export function isAtLeast(level: Level, other: Level): boolean {
  return LEVELS.indexOf(level) >= LEVELS.indexOf(other);
}

function fits(rule: AuditRule, caller: Caller | undefined, attributes: Attributes): boolean {
  const { users = [], userGroups = [], verbs = [], resources = [], namespaces = [], nonResourceURLs = [] } = rule;
  if (users.length > 0 && !users.includes(caller?.user ?? "")) return false;
  if (userGroups.length > 0 && !caller?.groups.some((group) => userGroups.includes(group))) return false;
  if (verbs.length > 0 && !verbs.includes(attributes.verb)) return false;
  if (namespaces.length > 0 || resources.length > 0) return fitsResource(namespaces, resources, attributes);
  if (nonResourceURLs.length === 0) return true;
  return "path" in attributes && nonResourceURLs.some((url) => fitsPath(url, attributes.path));
}

function fitsResource(
  namespaces: readonly string[],
  resources: readonly GroupResources[],
  attributes: Attributes,
): boolean {
  if ("path" in attributes) return false;
  const { namespace, group, resource, subresource, name } = attributes;
  if (namespaces.length > 0 && !namespaces.includes(namespace)) return false;
  if (resources.length === 0) return true;
  const combined = subresource === "" ? resource : `${resource}/${subresource}`;
  const fitting = [combined, "*", `${resource}/*`, ...(subresource === "" ? [] : [`*/${subresource}`])];
  return resources.some((one) => {
    if ((one.group ?? "") !== group) return false;
    const { resources: wanted = [], resourceNames = [] } = one;
    if (wanted.length === 0) return true;
    if (resourceNames.length > 0 && !resourceNames.includes(name)) return false;
    return wanted.some((text) => fitting.includes(text));
  });
}

function fitsPath(url: string, path: string): boolean {
  return url === path || (url.endsWith("*") && path.startsWith(url.slice(0, -1)));
}
