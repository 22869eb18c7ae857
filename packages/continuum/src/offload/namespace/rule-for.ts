import { CONSUMER_LABEL, isKeptNamespace, type OffloadingRule } from "@fjord/api";
import { isBeingDeleted, matchesSelector, type Namespace } from "@fjord/kube";

/** Whether rules are about such a namespace at all: not the system's, not the agent's, not another site's twin. */
export function isForRules({ metadata }: Namespace, agentNamespace?: string): boolean {
  const { name = "", labels = {} } = metadata;
  return !isKeptNamespace(name, agentNamespace) && labels[CONSUMER_LABEL] === undefined;
}

/** Whether the rule matches the namespace. */
export function isMatched(namespace: Namespace, rule: OffloadingRule, agentNamespace?: string): boolean {
  if (isBeingDeleted(namespace) || isBeingDeleted(rule) || !isForRules(namespace, agentNamespace)) return false;
  return matchesSelector(rule.spec.namespaceSelector, namespace.metadata.labels);
}

/** The rule that a namespace follows: of those that match, the one whose name comes first. */
export function ruleFor(
  namespace: Namespace,
  rules: readonly OffloadingRule[],
  agentNamespace?: string,
): OffloadingRule | undefined {
  let first: OffloadingRule | undefined;
  for (const rule of rules) {
    if (!isMatched(namespace, rule, agentNamespace)) continue;
    if (first === undefined || (rule.metadata.name ?? "") < (first.metadata.name ?? "")) first = rule;
  }
  return first;
}
