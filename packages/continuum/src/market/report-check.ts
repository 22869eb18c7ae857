import type { ContractReport } from "../protocol.ts";
import { checkedResources, checkedStanding } from "./request-check.ts";

const phases: readonly string[] = ["Proposed", "Active", "Expiring", "Ended"];
const endReasons: readonly string[] = ["Expired", "Cancelled", "Revoked", "Superseded", "PeerRemoved"];

/** What a provider says of a contract, with nothing in it that it must not say; undefined where it makes no sense. */
export function readReport(report: ContractReport): ContractReport | undefined {
  try {
    const { standing } = checkedStanding(report);
    const { id, phase, limit, endReason = "Revoked" } = report;
    if (typeof id !== "string" || !phases.includes(phase)) return undefined;
    return {
      id,
      phase,
      standing,
      ...(phase === "Ended" && { endReason: endReasons.includes(endReason) ? endReason : "Revoked" }),
      ...(limit !== undefined && { limit: checkedResources(limit) }),
      tenantReady: report.tenantReady === true,
    };
  } catch {
    // It is no report: as if nothing had been said.
    return undefined;
  }
}
