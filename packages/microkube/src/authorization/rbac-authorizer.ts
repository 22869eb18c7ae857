import type { Caller } from "../cluster.ts";
import type { Attributes, Authorizer, Decision } from "./authorizer.ts";
import { ruleAllows } from "./policy-rule.ts";
import type { RoleIndex } from "./role-index.ts";

/** Allows what a Role or ClusterRole that is bound to the caller allows. */
export class RbacAuthorizer implements Authorizer {
  readonly #index: RoleIndex;

  constructor(index: RoleIndex) {
    this.#index = index;
  }

  authorize(caller: Caller, attributes: Attributes): Decision {
    const { rules, problems } = this.#index.grants(caller, "path" in attributes ? "" : attributes.namespace);
    for (const { rule, source } of rules) {
      if (ruleAllows(rule, attributes)) return { allowed: true, reason: `RBAC: allowed by ${source}` };
    }
    const [first = ""] = problems;
    const told = problems.length > 1 ? `[${problems.join(", ")}]` : first;
    return { allowed: false, reason: told === "" ? "" : `RBAC: ${told}` };
  }
}
