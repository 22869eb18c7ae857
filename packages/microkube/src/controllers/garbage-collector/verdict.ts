import type { OwnerReference } from "@fjord/base";
import { FOREGROUND, type GraphNode, ORPHAN, waitsForDependents } from "./owner-graph.ts";

/** An owner as it was found: there, there but waiting for its dependents to go, or absent. */
export type OwnerState = "solid" | "waiting" | "absent";

export type Verdict =
  | { readonly type: "leave" }
  /** Some owners are gone or going, others stay: only the references to the former are taken away. */
  | { readonly type: "disown"; readonly owners: readonly OwnerReference[] }
  | {
      readonly type: "delete";
      readonly policy: "Foreground" | "Background" | "Orphan";
      /** Its owners must not wait for it, because it waits for them. */
      readonly unblock?: boolean;
    };

/** What becomes of an object whose owners are in these states. */
export function judge(
  node: GraphNode,
  stateOf: (owner: OwnerReference) => OwnerState,
  dependents: readonly GraphNode[],
): Verdict {
  if (node.owners.length === 0) return { type: "leave" };
  const solid = node.owners.filter((owner) => stateOf(owner) === "solid");
  if (solid.length === node.owners.length) return { type: "leave" };
  if (solid.length > 0) return { type: "disown", owners: solid };
  const isAwaited = node.owners.some((owner) => stateOf(owner) === "waiting");
  if (isAwaited && dependents.length > 0) {
    return { type: "delete", policy: "Foreground", unblock: dependents.some(waitsForDependents) };
  }
  if (node.finalizers.includes(ORPHAN)) return { type: "delete", policy: "Orphan" };
  if (node.finalizers.includes(FOREGROUND)) return { type: "delete", policy: "Foreground" };
  return { type: "delete", policy: "Background" };
}

/** Those that an owner has to wait for. */
export function blockers(owner: GraphNode, dependents: readonly GraphNode[]): GraphNode[] {
  return dependents.filter(({ owners }) =>
    owners.some(({ uid, blockOwnerDeletion }) => uid === owner.uid && blockOwnerDeletion === true),
  );
}
