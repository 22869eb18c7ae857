/** One condition of which objects a quota is for. */
export interface ScopeSelector {
  readonly scopeName: string;
  readonly operator: string;
  readonly values?: readonly string[] | undefined;
}

/** Whether one of the values stands for the scope, as label selectors have it. */
export function selectsValue({ operator, values = [] }: ScopeSelector, value: string | undefined): boolean {
  if (operator === "Exists") return value !== undefined;
  if (operator === "DoesNotExist") return value === undefined;
  if (operator === "In") return value !== undefined && values.includes(value);
  return operator === "NotIn" && (value === undefined || !values.includes(value));
}
