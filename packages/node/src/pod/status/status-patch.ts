import { sameContent } from "@fjord/kube";
import { isTerminal, type PodCondition, type PodStatus } from "../pod-containers.ts";
import { ownConditions } from "./pod-conditions.ts";

/** Fields that are removed from the API where the node has nothing to say in them. */
const optionalFields = [
  "reason",
  "message",
  "podIP",
  "podIPs",
  "initContainerStatuses",
  "ephemeralContainerStatuses",
  "resize",
  "allocatedResources",
  "resources",
] as const satisfies readonly (keyof PodStatus)[];

/** Lists that the API would merge by their addresses. */
const replacedLists = ["podIPs", "hostIPs"] as const satisfies readonly (keyof PodStatus)[];

/**
 * A strategic merge patch that makes the API's status the node's, whatever it was, and leaves conditions of others as
 * they are. The uid makes the API refuse it for a pod that has only the name in common.
 */
export function statusPatch(uid: string, status: PodStatus, alsoOwn: readonly string[] = []): unknown {
  const patch: Record<string, unknown> = { ...status };
  for (const field of optionalFields) patch[field] ??= null;
  for (const field of replacedLists) {
    const list = patch[field];
    if (Array.isArray(list)) patch[field] = [...list, { $patch: "replace" }];
  }
  const isOwn = ({ type }: PodCondition) =>
    ownConditions.includes(type) || alsoOwn.includes(type) || type === "PodScheduled";
  const own = (status.conditions ?? []).filter(isOwn);
  const removed = removableConditions.filter((type) => !own.some((condition) => condition.type === type));
  // Merged by its type, a condition would keep a message that it no longer has.
  const whole = own.map((condition) => ({ reason: null, message: null, ...condition }));
  patch.conditions = [...whole, ...removed.map((type) => ({ type, $patch: "delete" }))];
  return { metadata: { uid }, status: patch };
}

const removableConditions = ["PodResizePending", "PodResizeInProgress"];

/** Whether the API already has what the node would write. */
export function isReported(
  reported: PodStatus | undefined,
  status: PodStatus,
  alsoOwn: readonly string[] = [],
): boolean {
  if (reported === undefined) return false;
  const fields = new Set([...Object.keys(status), ...optionalFields]) as Set<keyof PodStatus>;
  for (const field of fields) {
    if (field === "conditions") continue;
    if (!isSame(reported[field], status[field])) return false;
  }
  const isOwn = ({ type }: PodCondition) => ownConditions.includes(type) || alsoOwn.includes(type);
  const conditions = (from: PodStatus) => (from.conditions ?? []).filter(isOwn);
  const before = new Map(conditions(reported).map((condition) => [condition.type, condition]));
  const now = conditions(status);
  return before.size === now.length && now.every((condition) => isSame(before.get(condition.type), condition));
}

/** Mostly the API has exactly what was written, which is found out without a plain copy of both. */
function isSame(a: unknown, b: unknown): boolean {
  return sameContent(a, b) || sameContent(plain(a), plain(b));
}

/** A phase that a pod has ended in is not taken back. */
export function wouldRevive(reported: PodStatus | undefined, status: PodStatus): boolean {
  return isTerminal(reported?.phase) && reported?.phase !== status.phase;
}

/** Without what JSON of different writers may or may not have: nulls, empty objects, empty lists. */
function plain(value: unknown): unknown {
  if (Array.isArray(value)) return value.length === 0 ? undefined : value.map((item) => plain(item));
  if (value === null || value === "") return undefined;
  if (typeof value !== "object") return value;
  const entries = Object.entries(value)
    .map(([key, item]) => [key, plain(item)] as const)
    .filter(([, item]) => item !== undefined);
  return entries.length === 0 ? undefined : Object.fromEntries(entries);
}
