import { type LabelSelector as KubeSelector, matchesSelector } from "@fjord/kube";

/** As the API's types have it. */
export interface LabelSelector {
  readonly matchLabels?: Readonly<Record<string, string>>;
  readonly matchExpressions?: readonly { key: string; operator: string; values?: readonly string[] }[];
}

export type Labels = Readonly<Record<string, string>>;

/** Whether labels meet a selector. An empty selector is met by all, an absent one by none. */
export function selects(selector: LabelSelector | undefined, labels: Labels = {}): boolean {
  return selector !== undefined && matchesSelector(selector as KubeSelector, labels);
}

/** For selectors that are plain labels, as Services and ReplicationControllers have them. */
export function includesLabels(labels: Labels = {}, wanted: Labels = {}): boolean {
  for (const key in wanted) if (labels[key] !== wanted[key]) return false;
  return true;
}

export function isEmptySelector({ matchLabels = {}, matchExpressions = [] }: LabelSelector): boolean {
  return Object.keys(matchLabels).length === 0 && matchExpressions.length === 0;
}
