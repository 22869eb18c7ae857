import type { ConditionView } from "./snapshot.ts";

interface ConditionShape {
  readonly type: string;
  readonly status: string;
  readonly reason?: string;
  readonly message?: string;
  readonly lastTransitionTime?: string;
}

export function conditionViews(conditions: readonly ConditionShape[] | undefined): ConditionView[] {
  return (conditions ?? []).map(({ type, status, reason = "", message = "", lastTransitionTime }) => ({
    type,
    status: status === "True" || status === "False" ? status : "Unknown",
    reason,
    message,
    ...(lastTransitionTime !== undefined && { since: lastTransitionTime }),
  }));
}

export function conditionOf(views: readonly ConditionView[], type: string): ConditionView | undefined {
  return views.find((view) => view.type === type);
}
