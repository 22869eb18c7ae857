import type { KubeObject } from "@fjord/base";
import type { AdmissionPlugin, AdmissionRequest } from "../admission/admission.ts";
import { isExempt } from "../admission/webhooks/webhook-match.ts";
import { budget } from "../cel/index.ts";
import type { Cluster } from "../cluster.ts";
import { find } from "../cluster-objects.ts";
import { StatusError } from "../status-error.ts";
import { programOf, valuesFor } from "./policy-expressions.ts";
import { type Policy, type PolicyBinding, PolicySource, paramsOf } from "./policy-source.ts";

const codes: Readonly<Record<string, number>> = {
  Unauthorized: 401,
  Forbidden: 403,
  Invalid: 422,
  RequestEntityTooLarge: 413,
};

interface Verdict {
  readonly reason: string;
  readonly message: string;
}

/** ValidatingAdmissionPolicies: rules in CEL that are objects of the cluster. */
export class ValidatingPolicies implements AdmissionPlugin {
  readonly name = "ValidatingAdmissionPolicy";
  readonly #source = new PolicySource();

  follow(cluster: Cluster): () => void {
    return this.#source.follow(cluster, "ValidatingAdmissionPolicy");
  }

  validate(request: AdmissionRequest): void {
    if (isExempt(request)) return;
    for (const { policy, binding } of this.#source.matching(request)) {
      for (const verdict of budget.all(() => judge(policy, binding, request)))
        this.#act(policy, binding, request, verdict);
    }
  }

  #act(policy: Policy, binding: PolicyBinding, request: AdmissionRequest, { reason, message }: Verdict): void {
    const actions = binding.spec.validationActions ?? ["Deny"];
    const said = `ValidatingAdmissionPolicy '${policy.metadata.name}' with binding '${binding.metadata.name}' denied request: ${message}`;
    if (actions.includes("Warn")) {
      request.warn(
        `Validation failed for ValidatingAdmissionPolicy '${policy.metadata.name}' with binding '${binding.metadata.name}': ${message}`,
      );
    }
    if (!actions.includes("Deny")) return;
    const { group, plural } = request.type;
    const qualified = group === "" ? plural : `${plural}.${group}`;
    const name = request.name || (request.object?.metadata.name ?? "");
    const details = { name, ...(group !== "" && { group }), kind: plural, causes: [{ message: said }] };
    throw new StatusError(codes[reason] ?? 422, reason, `${qualified} "${name}" is forbidden: ${said}`, details);
  }
}

/** What stands against a request, in the order of the rules. */
function judge(policy: Policy, binding: PolicyBinding, request: AdmissionRequest): Verdict[] {
  const { variables = [], matchConditions = [], validations = [], failurePolicy = "Fail" } = policy.spec;
  const failed = (message: string): Verdict[] => (failurePolicy === "Ignore" ? [] : [{ reason: "Invalid", message }]);
  const params = paramsOf(policy, binding, request);
  if (params === "missing") {
    return failed(
      "failed to configure binding: no params found for policy binding with `Deny` parameterNotFoundAction",
    );
  }
  const namespace =
    request.namespace === "" ? undefined : find<KubeObject>(request.cluster, "Namespace", "", request.namespace);
  return params.flatMap((param) => {
    const values = valuesFor({ request, params: param, namespace }, variables);
    try {
      if (!matchConditions.every(({ expression }) => programOf(expression)(values) === true)) return [];
    } catch (error) {
      return failed((error as Error).message.split("\n")[0] ?? "");
    }
    return validations.flatMap(({ expression, message, messageExpression, reason = "Invalid" }) => {
      try {
        if (programOf(expression)(values) === true) return [];
      } catch (error) {
        return failed(`expression '${expression}' resulted in error: ${(error as Error).message.split("\n")[0]}`);
      }
      const own = messageExpression === undefined ? undefined : textOf(messageExpression, values);
      return [{ reason, message: own ?? (message || `failed expression: ${expression.trim()}`) }];
    });
  });
}

function textOf(expression: string, values: Record<string, unknown>): string | undefined {
  try {
    const text = programOf(expression)(values);
    return typeof text === "string" && text.trim() !== "" ? text : undefined;
  } catch {
    return undefined;
  }
}
