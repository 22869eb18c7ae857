/** Kubernetes' label selector, as Fjord's kinds carry it. */
export interface LabelSelector {
  readonly matchLabels?: Readonly<Record<string, string>> | undefined;
  readonly matchExpressions?:
    | readonly {
        readonly key: string;
        readonly operator: "In" | "NotIn" | "Exists" | "DoesNotExist";
        readonly values?: readonly string[] | undefined;
      }[]
    | undefined;
}

/** Whether an object with these labels is selected. An empty selector selects everything. */
export function matchesSelector(selector: LabelSelector, labels: Readonly<Record<string, string>> = {}): boolean {
  const { matchLabels = {}, matchExpressions = [] } = selector;
  const hasAll = Object.entries(matchLabels).every(
    ([key, value]) => Object.hasOwn(labels, key) && labels[key] === value,
  );
  return (
    hasAll &&
    matchExpressions.every(({ key, operator, values = [] }) => {
      const value = Object.hasOwn(labels, key) ? labels[key] : undefined;
      if (operator === "Exists") return value !== undefined;
      if (operator === "DoesNotExist") return value === undefined;
      if (operator === "In") return value !== undefined && values.includes(value);
      return value === undefined || !values.includes(value);
    })
  );
}
