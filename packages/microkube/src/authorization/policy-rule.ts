import type { Attributes } from "./authorizer.ts";

/** One rule of a Role or ClusterRole. */
export interface PolicyRule {
  readonly verbs: readonly string[];
  readonly apiGroups?: readonly string[] | undefined;
  readonly resources?: readonly string[] | undefined;
  readonly resourceNames?: readonly string[] | undefined;
  readonly nonResourceURLs?: readonly string[] | undefined;
}

const none: readonly string[] = [];

/** Whether the rule alone allows it. */
export function ruleAllows(rule: PolicyRule, attributes: Attributes): boolean {
  if (!holds(rule.verbs, attributes.verb)) return false;
  if ("path" in attributes) return (rule.nonResourceURLs ?? none).some((url) => urlCovers(url, attributes.path));
  const { group, resource, subresource, name } = attributes;
  const { apiGroups = none, resources = none, resourceNames = none } = rule;
  if (!holds(apiGroups, group)) return false;
  const isResource =
    subresource === ""
      ? holds(resources, resource)
      : holds(resources, `${resource}/${subresource}`) || resources.includes(`*/${subresource}`);
  return isResource && (resourceNames.length === 0 || resourceNames.includes(name));
}

const holds = (of: readonly string[], value: string) => of.includes("*") || of.includes(value);

function urlCovers(owner: string, path: string): boolean {
  return owner === path || (owner.endsWith("*") && path.startsWith(owner.replace(/\*+$/, "")));
}

/** What of `wanted` is not allowed by `held`, broken down to single verbs, groups, resources and names. */
export function missingRules(held: readonly PolicyRule[], wanted: readonly PolicyRule[]): PolicyRule[] {
  return wanted.flatMap(single).filter((rule) => !held.some((owner) => covers(owner, rule)));
}

function single(rule: PolicyRule): PolicyRule[] {
  const { verbs, apiGroups = none, resources = none, resourceNames = none, nonResourceURLs = none } = rule;
  const names: (readonly string[])[] = resourceNames.length === 0 ? [none] : resourceNames.map((name) => [name]);
  const rules: PolicyRule[] = [];
  for (const group of apiGroups) {
    for (const resource of resources) {
      for (const verb of verbs) {
        for (const resourceName of names) {
          const named = resourceName.length > 0 && { resourceNames: resourceName };
          rules.push({ apiGroups: [group], resources: [resource], verbs: [verb], ...named });
        }
      }
    }
  }
  return [
    ...rules,
    ...nonResourceURLs.flatMap((url) => verbs.map((verb) => ({ nonResourceURLs: [url], verbs: [verb] }))),
  ];
}

function covers(owner: PolicyRule, rule: PolicyRule): boolean {
  const { apiGroups = none, resources = none, resourceNames = none, nonResourceURLs = none } = owner;
  const all = (set: readonly string[], values: readonly string[] = none) =>
    set.includes("*") || values.every((value) => set.includes(value));
  const { resourceNames: names = none } = rule;
  const isNamed =
    resourceNames.length === 0 || (names.length > 0 && names.every((name) => resourceNames.includes(name)));
  const hasResource = (resource: string) => {
    const [, sub] = resource.split(/\/(.*)/s);
    return resources.includes(resource) || (sub !== undefined && resources.includes(`*/${sub}`));
  };
  return (
    all(owner.verbs, rule.verbs) &&
    all(apiGroups, rule.apiGroups) &&
    (resources.includes("*") || (rule.resources ?? none).every(hasResource)) &&
    (rule.nonResourceURLs ?? none).every((url) => nonResourceURLs.some((held) => urlCovers(held, url))) &&
    isNamed
  );
}

/** Rules that differ by their verbs only, as one: what is missing is told so. */
export function compactRules(rules: readonly PolicyRule[]): PolicyRule[] {
  const simple = new Map<string, PolicyRule>();
  const others: PolicyRule[] = [];
  for (const rule of rules) {
    if (rule.nonResourceURLs !== undefined) {
      others.push(rule);
      continue;
    }
    const { verbs, ...rest } = rule;
    const key = JSON.stringify([rest.apiGroups, rest.resources, rest.resourceNames]);
    simple.set(key, { ...rest, verbs: [...(simple.get(key)?.verbs ?? none), ...verbs] });
  }
  return [...others, ...simple.values()];
}

/** `{APIGroups:[""], Resources:["pods"], Verbs:["get"]}`, as Kubernetes tells rules. */
export function describeRule(rule: PolicyRule): string {
  const part = (name: string, values: readonly string[] = none) =>
    values.length === 0 ? [] : [`${name}:${quotedList(values)}`];
  const parts = [
    ...part("APIGroups", rule.apiGroups),
    ...part("Resources", rule.resources),
    ...part("NonResourceURLs", rule.nonResourceURLs),
    ...part("ResourceNames", rule.resourceNames),
    ...part("Verbs", rule.verbs),
  ];
  return `{${parts.join(", ")}}`;
}

/** `["a" "b"]`, as Go prints lists of strings. */
export function quotedList(texts: readonly string[]): string {
  return `[${texts.map((text) => JSON.stringify(text)).join(" ")}]`;
}
