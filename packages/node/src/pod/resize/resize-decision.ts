import type { Pod } from "@fjord/kube";
import type { NodeLedger } from "../../resources/node-ledger.ts";

export type ResizeDecision =
  | { readonly verdict: "grant" }
  | { readonly verdict: "Deferred" | "Infeasible"; readonly message: string };

/** Whether the node can give a running pod what it now asks for. */
export function decideResize(pod: Pod, ledger: Pick<NodeLedger, "shortage" | "excess">): ResizeDecision {
  const excess = ledger.excess(pod);
  if (excess !== undefined) {
    const { resource, requested, capacity } = excess;
    const message = `Node didn't have enough capacity: ${resource}, requested: ${requested}, capacity: ${capacity}`;
    return { verdict: "Infeasible", message };
  }
  const shortage = ledger.shortage(pod);
  if (shortage === undefined) return { verdict: "grant" };
  const { resource, requested, used, capacity } = shortage;
  const amounts = `requested: ${requested}, used: ${used}, capacity: ${capacity}`;
  return { verdict: "Deferred", message: `Node didn't have enough resource: ${resource}, ${amounts}` };
}
