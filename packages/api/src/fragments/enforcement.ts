import { enumeration } from "../schema/index.ts";

/** How strictly a provider holds pods to the contract's amounts. */
export function enforcement() {
  return enumeration({
    None: "requests are summed; a container without requests counts for nothing.",
    RequestsRequired: "every container must state requests for the contract's resources.",
    LimitsEqualRequests:
      "every container must also state limits equal to its requests, so that use cannot exceed them.",
  });
}
