import { type Offloading, REFLECT_ANNOTATION, type Site } from "@fjord/api";
import type { Kind, KubeObject } from "@fjord/base";
import type { ReflectionRule } from "../../reflection-rules.ts";
import type { ReflectionPolicy } from "../reflected-kind.ts";

/** What the rules say of a kind: the namespace's own go before the site's, and these before what is usual for the kind. */
export function policyFor(
  kind: Pick<Kind, "group" | "plural">,
  usual: ReflectionPolicy,
  offloading: Offloading | undefined,
  site: Site | undefined,
): ReflectionPolicy {
  return ruleFor(kind, offloading?.spec.reflection)?.policy ?? ruleFor(kind, site?.spec.reflection)?.policy ?? usual;
}

function ruleFor(
  { group, plural }: Pick<Kind, "group" | "plural">,
  rules: readonly ReflectionRule[] = [],
): ReflectionRule | undefined {
  return rules.find((rule) => rule.group === group && rule.resource === plural);
}

/** Whether an object may have a twin. `isReferenced` is asked only where it matters. */
export function mayHaveTwin(policy: ReflectionPolicy, { metadata }: KubeObject, isReferenced: () => boolean): boolean {
  if (policy === "Never") return false;
  const wish = metadata.annotations?.[REFLECT_ANNOTATION];
  if (wish === "false") return false;
  if (wish === "true" || policy === "DenyList") return true;
  return policy === "Referenced" && isReferenced();
}
