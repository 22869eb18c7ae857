import type { AdmissionRequest } from "../admission.ts";
import { refusal } from "../refusal.ts";
import type { Webhook } from "./webhook.ts";

/**
 * Whether all of a webhook's conditions hold: one that does not decides, whatever the others say. Where one cannot be
 * told, the failure policy says whether the request fails (403) or goes on without the webhook.
 */
export async function conditionsHold({ hook }: Webhook, request: AdmissionRequest): Promise<boolean> {
  const conditions = hook.matchConditions ?? [];
  if (conditions.length === 0) return true;
  // Few webhooks have any, and CEL is large.
  const { programOf, valuesFor } = await import("../../policies/policy-expressions.ts");
  const values = valuesFor({ request, params: undefined, namespace: undefined }, []);
  const problems: string[] = [];
  for (const { expression } of conditions) {
    try {
      if (programOf(expression)(values) === false) return false;
    } catch (error) {
      problems.push((error as Error).message.split("\n")[0] ?? "");
    }
  }
  if (problems.length === 0) return true;
  if (hook.failurePolicy === "Ignore") return false;
  throw refusal(request, problems.length === 1 ? (problems[0] ?? "") : `[${problems.join(", ")}]`);
}
