import type { Site } from "@fjord/api";
import { type Kind, nearest } from "@fjord/base";
import {
  ConfigMap,
  CoreEvent,
  EndpointSlice,
  Ingress,
  NetworkPolicy,
  PersistentVolumeClaim,
  PodDisruptionBudget,
  Secret,
  Service,
  sameContent,
} from "@fjord/kube";

export type ReflectionRule = NonNullable<Site["spec"]["reflection"]>[number];
type Resource = Pick<Kind, "group" | "plural">;

/** What a rule can be about wherever it stands. A custom resource is listed on the own Site. */
export const builtInResources: readonly Resource[] = [
  ConfigMap,
  Secret,
  Service,
  EndpointSlice,
  Ingress,
  NetworkPolicy,
  PodDisruptionBudget,
  PersistentVolumeClaim,
  CoreEvent,
];

/** A rule that nothing obeys. */
export interface UnheededRule {
  /** In the list of rules. */
  readonly place: number;
  /** Whether it would let objects go once their resource is listed: until then these stay, as without it. */
  readonly mayCome: boolean;
  readonly why: string;
}

/** `services`, `ingresses.networking.k8s.io`. */
export function resourceOf({ group, plural }: Resource): string {
  return group === "" ? plural : `${plural}.${group}`;
}

/** Groups of Kubernetes' own kinds, and Fjord's: nothing in them is a custom resource. */
export function isCustomGroup(group: string): boolean {
  return group.includes(".") && !/(?:^|\.)(?:k8s\.io|kubernetes\.io|fjord\.dev)$/.test(group);
}

/** The rules of the own Site, which list the custom resources. */
export function rulesOfOwn(sites: readonly Site[]): readonly ReflectionRule[] {
  return sites.find(({ status }) => status?.role === "Self")?.spec.reflection ?? [];
}

/** Whether a Site says something else to who goes by the rules of the own one. */
export function isOtherRules(old: Site, site: Site): boolean {
  return !sameContent(old.spec.reflection, site.spec.reflection) || old.status?.role !== site.status?.role;
}

/** Of `rules` those that are about nothing that is reflected, where the own Site has the rules `own`. */
export function unheededRules(rules: readonly ReflectionRule[], own: readonly ReflectionRule[]): UnheededRule[] {
  const custom = own.filter(({ group }) => isCustomGroup(group)).map(asResource);
  return rules.flatMap((rule, place) => {
    const { group, policy } = rule;
    const known = isCustomGroup(group) ? custom : builtInResources;
    const resource = asResource(rule);
    if (known.some((each) => resourceOf(each) === resourceOf(resource))) return [];
    const mayCome = isCustomGroup(group) && policy !== "Never" && policy !== "AllowList";
    return [{ place, mayCome, why: whyUnheeded(resource, [...builtInResources, ...custom]) }];
  });
}

/** The condition RulesHeeded; undefined where there are no rules, and never were. `path`: where they stand. */
export function rulesCondition(
  path: string,
  rules: readonly ReflectionRule[] = [],
  own: readonly ReflectionRule[],
  before: readonly { readonly type: string }[] = [],
) {
  if (rules.length === 0 && !before.some(({ type }) => type === "RulesHeeded")) return undefined;
  const unheeded = unheededRules(rules, own);
  if (unheeded.length === 0) return { type: "RulesHeeded", status: "True", reason: "AllHeeded", message: "" } as const;
  const message = unheeded.map((each) => sentenceOf(path, each)).join("; ");
  return { type: "RulesHeeded", status: "False", reason: "ResourceUnknown", message: message.slice(0, 1024) } as const;
}

export function sentenceOf(path: string, { place, why }: UnheededRule): string {
  return `${path}[${place}] has no effect: ${why}`;
}

function whyUnheeded(resource: Resource, known: readonly Resource[]): string {
  const name = resourceOf(resource);
  const meant = meantBy(resource, known);
  const guess = meant === undefined ? "" : ` (did you mean ${resourceOf(meant)}?)`;
  if (isCustomGroup(resource.group))
    return `the own Site lists no ${name}${guess}. List it in spec.reflection there first, or leave the rule out: what is not listed stays at home`;
  const names = builtInResources.map(resourceOf).join(", ");
  return `there is no ${name} that is reflected${guess}. Name one of ${names}, or a custom resource that the own Site lists; or leave the rule out`;
}

/** A name that is nearly right in its own group, or in any. */
function meantBy({ group, plural }: Resource, known: readonly Resource[]): Resource | undefined {
  const near = (among: readonly Resource[]) => {
    const found = nearest(
      plural,
      among.map((each) => each.plural),
    );
    return among.find((each) => each.plural === found);
  };
  return near(known.filter((each) => each.group === group)) ?? near(known);
}

function asResource({ group, resource }: ReflectionRule): Resource {
  return { group, plural: resource };
}
