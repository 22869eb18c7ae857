import type { KubeObject } from "@fjord/base";
import type { AdmissionPlugin, AdmissionRequest } from "../admission/admission.ts";
import { isExempt } from "../admission/webhooks/webhook-match.ts";
import { budget } from "../cel/index.ts";
import type { Cluster } from "../cluster.ts";
import { find } from "../cluster-objects.ts";
import { patches } from "../patch/index.ts";
import { StatusError } from "../status-error.ts";
import { jsonOf, programOf, valuesFor } from "./policy-expressions.ts";
import { type Policy, PolicySource, paramsOf } from "./policy-source.ts";

/** MutatingAdmissionPolicies: changes in CEL that are objects of the cluster. */
export class MutatingPolicies implements AdmissionPlugin {
  readonly name = "MutatingAdmissionPolicy";
  readonly #source = new PolicySource();

  follow(cluster: Cluster): () => void {
    return this.#source.follow(cluster, "MutatingAdmissionPolicy");
  }

  mutate(request: AdmissionRequest): void {
    if (isExempt(request) || request.object === undefined) return;
    for (const { policy, binding } of this.#source.matching(request)) {
      const params = paramsOf(policy, binding, request);
      const { failurePolicy = "Fail" } = policy.spec;
      try {
        if (params === "missing")
          throw new Error("no params found for policy binding with `Deny` parameterNotFoundAction");
        budget.all(() => {
          for (const param of params) change(policy, request, param);
        });
      } catch (error) {
        if (failurePolicy === "Ignore") continue;
        const why = (error as Error).message.split("\n")[0];
        const { name } = policy.metadata;
        throw new StatusError(
          422,
          "Invalid",
          `policy '${name}' with binding '${binding.metadata.name}' denied request: ${why}`,
        );
      }
    }
  }
}

function change(policy: Policy, request: AdmissionRequest, params: KubeObject | undefined): void {
  const { variables = [], matchConditions = [], mutations = [] } = policy.spec;
  const namespace =
    request.namespace === "" ? undefined : find<KubeObject>(request.cluster, "Namespace", "", request.namespace);
  const values = () => valuesFor({ request, params, namespace }, variables);
  const before = values();
  if (!matchConditions.every(({ expression }) => programOf(expression)(before) === true)) return;
  for (const { patchType, applyConfiguration, jsonPatch } of mutations) {
    const object = request.object as KubeObject;
    const expression = (patchType === "JSONPatch" ? jsonPatch : applyConfiguration)?.expression ?? "";
    // Each sees what those before it have made.
    const wanted = jsonOf(programOf(expression)(values()));
    const schema = request.type.schema(request.version) ?? {};
    const next = patchType === "JSONPatch" ? patches.json(object, wanted) : patches.strategic(object, wanted, schema);
    replace(object, next);
  }
}

/** Plugins change the object that they are given. */
function replace(object: KubeObject, next: KubeObject): void {
  const target = object as unknown as Record<string, unknown>;
  for (const key of Object.keys(target)) if (!Object.hasOwn(next, key)) delete target[key];
  Object.assign(target, next);
}
