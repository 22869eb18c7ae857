import type { Pod } from "./pod-update.ts";

interface Condition {
  type: string;
  status: string;
  reason?: string;
  message?: string;
}

/** Sets a condition of a pod, in place; its transition is now where its status changes. */
export function setCondition(pod: Pod, condition: Condition, now: number): void {
  pod.status ??= {};
  pod.status.conditions ??= [];
  const time = `${new Date(now).toISOString().slice(0, 19)}Z`;
  const before = pod.status.conditions.find(({ type }) => type === condition.type);
  if (before === undefined) pod.status.conditions.push({ ...condition, lastTransitionTime: time });
  else {
    const since = before.status === condition.status ? before.lastTransitionTime : time;
    Object.assign(before, { reason: undefined, message: undefined }, condition, { lastTransitionTime: since });
  }
}
