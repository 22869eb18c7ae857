import type { Condition } from "@fjord/base";

/** The API servers' bound on a condition's message. */
const LONGEST_MESSAGE = 32_768;

/** A condition before it has a time. For a kind that lists its conditions, each type with its own reasons. */
export type NewCondition<C extends Condition = Condition> = C extends Condition ? Omit<C, "lastTransitionTime"> : never;

/**
 * The conditions with one of them as given, all others as they were. The transition time moves only when the status
 * changes; without any change the very same array comes back, so that callers can skip the write.
 */
export function setCondition<C extends Condition = Condition>(
  conditions: readonly C[] | undefined,
  wanted: NewCondition<C>,
  now: number,
): { conditions: C[]; changed: boolean } {
  // As an object's status has it: not read-only, though nobody writes to it here.
  const before = (conditions ?? []) as C[];
  const old = getCondition(before, wanted.type);
  const changedAt = new Date(now).toISOString().replace(/\.\d+Z$/, "Z");
  const condition = {
    ...wanted,
    message: capped(wanted.message),
    lastTransitionTime: old?.status === wanted.status ? old.lastTransitionTime : changedAt,
  } as Condition as C;
  if (old === undefined) return { conditions: [...before, condition], changed: true };
  if (sameCondition(old, condition)) return { conditions: before, changed: false };
  return { conditions: before.map((each) => (each === old ? condition : each)), changed: true };
}

export function getCondition<C extends Condition>(
  conditions: readonly C[] | undefined,
  type: C["type"],
): C | undefined {
  return conditions?.find((condition) => condition.type === type);
}

/** True only where the condition says so, and, with a generation, says so of that generation or a later one. */
export function isConditionTrue(
  conditions: readonly Condition[] | undefined,
  type: string,
  generation?: number,
): boolean {
  const condition = getCondition(conditions, type);
  if (condition?.status !== "True") return false;
  return generation === undefined || (condition.observedGeneration ?? 0) >= generation;
}

export function removeCondition<C extends Condition>(
  conditions: readonly C[] | undefined,
  type: C["type"],
): { conditions: C[]; changed: boolean } {
  const before = (conditions ?? []) as C[];
  const after = before.filter((condition) => condition.type !== type);
  return after.length === before.length ? { conditions: before, changed: false } : { conditions: after, changed: true };
}

function sameCondition(a: Condition, b: Condition): boolean {
  return (
    a.status === b.status &&
    a.reason === b.reason &&
    a.message === b.message &&
    a.observedGeneration === b.observedGeneration &&
    a.lastTransitionTime === b.lastTransitionTime
  );
}

/** Cuts at a whole character: half of a surrogate pair is no valid text. */
function capped(message: string): string {
  if (message.length <= LONGEST_MESSAGE) return message;
  const cut = message.slice(0, LONGEST_MESSAGE - 1).replace(/[\uD800-\uDBFF]$/, "");
  return `${cut}…`;
}
