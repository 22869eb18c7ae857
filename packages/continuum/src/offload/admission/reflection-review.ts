import { Site } from "@fjord/api";
import { type KubeClient, sameContent } from "@fjord/kube";
import { isCustomGroup, type ReflectionRule, rulesOfOwn, sentenceOf, unheededRules } from "../../reflection-rules.ts";
import type { Verdict } from "./admission-review.ts";

/** As the schema has it, which is asked after this. */
const MOST_RULES = 64;
/** Less than the webhook's patience. */
const LIST_MS = 1_500;

/**
 * Refuses rules that would be taken to hold and do not. Those that let a custom resource go may come before its list. Ones that
 * are stored already hold up no other change: a condition tells of them. `path`: where they stand.
 */
export async function reviewReflection(
  client: Pick<KubeClient, "list">,
  path: string,
  given: unknown,
  before: unknown,
): Promise<Verdict> {
  if (!areRules(given) || sameContent(given, before)) return { allowed: true };
  // What the watch shows may be behind a Site that was applied together with this.
  const isCustom = given.some(({ group = "" }) => isCustomGroup(group));
  const own = isCustom ? rulesOfOwn((await client.list(Site, { signal: AbortSignal.timeout(LIST_MS) })).items) : [];
  const rules = given.map((rule) => ({ ...rule, group: rule.group ?? "" }));
  const unheeded = unheededRules(rules, own);
  const refused = unheeded.filter(({ mayCome }) => !mayCome);
  if (refused.length > 0) return { allowed: false, message: refused.map((each) => sentenceOf(path, each)).join("; ") };
  if (unheeded.length === 0) return { allowed: true };
  return { allowed: true, warnings: unheeded.map((each) => sentenceOf(path, each)) };
}

/** Whether the schema, which has not been applied yet, can let them pass. */
function areRules(given: unknown): given is readonly ReflectionRule[] {
  if (!Array.isArray(given) || given.length > MOST_RULES) return false;
  return given.every((rule: Partial<ReflectionRule> | null) => {
    const { group = "", resource } = rule ?? {};
    return isName(group, 253) && isName(resource, 63);
  });
}

function isName(value: unknown, longest: number): boolean {
  return typeof value === "string" && value.length <= longest;
}
