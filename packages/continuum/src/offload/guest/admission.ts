import type { GuestPrivilege, ShadowPod } from "@fjord/api";
import { describeError } from "@fjord/base";
import type { ResourceAmounts } from "@fjord/node/pod-status";
import type { LiveContract, LiveContracts } from "../../live-contracts.ts";
import { shortcoming } from "./enforcement.ts";
import { wantedSpec } from "./guest-pod.ts";
import { asksForLessThanNothing, guestRequests } from "./guest-requests.ts";
import { guestViolations } from "./guest-security.ts";
import type { RoomLedger } from "./room-ledger.ts";
import type { Verdict } from "./shadow-status.ts";

export interface AdmissionSources {
  readonly key: string;
  readonly shadow: ShadowPod;
  /** Whose twin namespace the shadow pod is in: not what the object itself claims. */
  readonly consumer: string;
  /** The pod was admitted once already, and has been lost since. */
  readonly isKnown: boolean;
  readonly contracts: Pick<LiveContracts, "resolve">;
  readonly ledger: RoomLedger;
  readonly allowed: readonly GuestPrivilege[];
}

export type Admission =
  | { readonly verdict: Verdict; readonly admitted: false }
  | {
      readonly verdict: Verdict;
      readonly admitted: true;
      readonly contract: LiveContract;
      readonly requests: ResourceAmounts;
    };

/** Whether a shadow pod may become a pod. Says why not, and what would make it pass. */
export function admit(sources: AdmissionSources): Admission {
  const { key, shadow, consumer, contracts, ledger, allowed } = sources;
  const contract = contracts.resolve(shadow.spec.contract);
  if (contract === undefined) return refused("ContractNotActive", `contract ${shadow.spec.contract} is not in force`);
  if (contract.consumer !== consumer) {
    return refused("ContractMissing", `there is no contract ${shadow.spec.contract} with this consumer`);
  }
  if (contract.drained || (!contract.takesPods && !sources.isKnown)) {
    return refused("Cordoned", `contract ${contract.id} takes no new pods`);
  }
  try {
    const spec = wantedSpec(shadow);
    const violations = guestViolations(spec, allowed, shadow.spec.pod.metadata?.annotations);
    if (violations.length > 0)
      return refused("PodRefused", `not given to guests: ${violations.slice(0, 8).join("; ")}`);
    const missing = shortcoming(spec, contract);
    if (missing !== undefined) return refused(missing.reason, missing.message);
    if (asksForLessThanNothing(spec)) return refused("PodRefused", "a request is less than nothing");
    const requests = guestRequests(spec);
    const lacking = ledger.lacking(
      key,
      requests,
      contract.resources,
      (name) => contracts.resolve(name)?.id === contract.id,
    );
    if (lacking !== undefined) return refused("AmountExceeded", `contract ${contract.id}: ${lacking}`);
    return { admitted: true, contract, requests, verdict: { reason: "WithinContract", message: "" } };
  } catch (error) {
    // A spec is whatever the consumer wrote: its lists may be texts, its amounts anything.
    return refused("PodRefused", `the pod cannot be read: ${describeError(error).slice(0, 500)}`);
  }
}

function refused(reason: Verdict["reason"], message: string): Admission {
  return { admitted: false, verdict: { reason, message } };
}
