import type { KubeObject } from "@fjord/base";
import { type LabelSelector, matchesSelector } from "@fjord/kube";
import type { AdmissionRequest } from "../admission/admission.ts";
import { ruleMatches, selectsNamespace, selectsObject } from "../admission/webhooks/webhook-match.ts";
import type { Cluster } from "../cluster.ts";
import { typeOf } from "../cluster-objects.ts";
import type { Variable } from "./policy-expressions.ts";

type Rule = Parameters<typeof ruleMatches>[0] & { readonly resourceNames?: readonly string[] };

export interface MatchResources {
  readonly resourceRules?: readonly Rule[];
  readonly excludeResourceRules?: readonly Rule[];
  readonly namespaceSelector?: LabelSelector;
  readonly objectSelector?: LabelSelector;
}

/** Policies of either kind, as far as they are alike. */
export interface Policy extends KubeObject {
  readonly spec: {
    readonly failurePolicy?: "Fail" | "Ignore";
    readonly matchConstraints?: MatchResources;
    readonly matchConditions?: readonly { readonly name: string; readonly expression: string }[];
    readonly variables?: readonly Variable[];
    readonly paramKind?: { readonly apiVersion: string; readonly kind: string };
    readonly validations?: readonly {
      readonly expression: string;
      readonly message?: string;
      readonly messageExpression?: string;
      readonly reason?: string;
    }[];
    readonly mutations?: readonly {
      readonly patchType: "ApplyConfiguration" | "JSONPatch";
      readonly applyConfiguration?: { readonly expression: string };
      readonly jsonPatch?: { readonly expression: string };
    }[];
  };
}

export interface PolicyBinding extends KubeObject {
  readonly spec: {
    readonly policyName: string;
    readonly matchResources?: MatchResources;
    readonly validationActions?: readonly ("Deny" | "Warn" | "Audit")[];
    readonly paramRef?: {
      readonly name?: string;
      readonly namespace?: string;
      readonly selector?: LabelSelector;
      readonly parameterNotFoundAction?: "Allow" | "Deny";
    };
  };
}

const GROUP = "admissionregistration.k8s.io";

/** The policies of one kind with their bindings, in the order of their names. */
export class PolicySource {
  readonly #policies = new Map<string, Policy>();
  readonly #bindings = new Map<string, PolicyBinding>();

  /** Follows the cluster from now on; returns what ends it. */
  follow(cluster: Cluster, kind: "ValidatingAdmissionPolicy" | "MutatingAdmissionPolicy"): () => void {
    const ends = [
      keep(cluster, kind, this.#policies as Map<string, KubeObject>),
      keep(cluster, `${kind}Binding`, this.#bindings as Map<string, KubeObject>),
    ];
    return () => {
      for (const end of ends) end();
    };
  }

  /** Those that a request is subject to. */
  *matching(request: AdmissionRequest): Generator<{ policy: Policy; binding: PolicyBinding }> {
    if (this.#bindings.size === 0) return;
    for (const name of [...this.#bindings.keys()].sort()) {
      const binding = this.#bindings.get(name) as PolicyBinding;
      const policy = this.#policies.get(binding.spec.policyName);
      if (policy === undefined || !matches(policy.spec.matchConstraints, request, true)) continue;
      if (matches(binding.spec.matchResources, request, false)) yield { policy, binding };
    }
  }
}

function keep(cluster: Cluster, kind: string, into: Map<string, KubeObject>): () => void {
  return cluster.follow(typeOf(cluster, GROUP, kind), ({ type, object }) => {
    const { name = "" } = object.metadata;
    if (type === "DELETED") into.delete(name);
    else into.set(name, object);
  });
}

/** A policy has to name what it is about; a binding may narrow that. */
function matches(resources: MatchResources | undefined, request: AdmissionRequest, needsRules: boolean): boolean {
  if (resources === undefined) return !needsRules;
  const { resourceRules = [], excludeResourceRules = [], namespaceSelector, objectSelector } = resources;
  const fits = (rule: Rule) => {
    const { resourceNames = [] } = rule;
    if (resourceNames.length > 0 && !resourceNames.includes(request.name)) return false;
    return request.type.versions.some((version) => ruleMatches(rule, request, version));
  };
  if (excludeResourceRules.some(fits)) return false;
  if (needsRules || resourceRules.length > 0) if (!resourceRules.some(fits)) return false;
  return selectsNamespace(namespaceSelector, request) && selectsObject(objectSelector, request);
}

/** The objects that a binding gives to its policy's expressions: one undefined where there are none to give. */
export function paramsOf(
  policy: Policy,
  binding: PolicyBinding,
  request: AdmissionRequest,
): (KubeObject | undefined)[] | "missing" {
  const { paramKind } = policy.spec;
  const { paramRef } = binding.spec;
  if (paramKind === undefined || paramRef === undefined) return [undefined];
  const { cluster } = request;
  const slash = paramKind.apiVersion.indexOf("/");
  const group = slash < 0 ? "" : paramKind.apiVersion.slice(0, slash);
  const type = cluster.types.ofKind(group, paramKind.kind);
  const namespace = type?.namespaced ? (paramRef.namespace ?? request.namespace) : "";
  const { name, selector } = paramRef;
  const found =
    type === undefined
      ? []
      : name !== undefined && name !== ""
        ? [cluster.get(type, namespace, name)].filter((one) => one !== undefined)
        : cluster
            .list(type, namespace || undefined)
            .filter(({ metadata }) => matchesSelector(selector ?? {}, metadata.labels));
  if (found.length > 0) return [...found];
  return paramRef.parameterNotFoundAction === "Allow" ? [] : "missing";
}
