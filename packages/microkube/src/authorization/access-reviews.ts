import type { KubeObject } from "@fjord/base";
import type { SelfSubjectRulesReview, SubjectAccessReview } from "@fjord/kube";
import type { Caller } from "../cluster.ts";
import { type FieldError, invalidField, required } from "../field-error.ts";
import type { WriteContext } from "../kinds/resource-type.ts";
import { badRequest, invalid, StatusError } from "../status-error.ts";
import type { Attributes, Authorizer } from "./authorizer.ts";
import { nodeOf } from "./node-authorizer.ts";
import type { RoleIndex } from "./role-index.ts";

/** Answers a POST of a kind that is not kept. */
export type Review = (
  request: Pick<WriteContext, "caller" | "namespace"> & { body: KubeObject },
) => Promise<KubeObject>;

type Spec = SubjectAccessReview["spec"];

/** The reviews of authorization.k8s.io, by kind. */
export function accessReviews(authorizer: Authorizer, roles: RoleIndex): Record<string, Review> {
  const answer = async (body: KubeObject, caller: Caller) => {
    const { spec = {} } = body as Partial<SubjectAccessReview>;
    const { allowed, reason } = await authorizer.authorize(caller, attributesOf(spec));
    return { ...body, status: { allowed, ...(reason !== "" && { reason }) } } as KubeObject;
  };
  return {
    async SubjectAccessReview({ body }) {
      const { spec = {}, metadata = {} } = body as Partial<SubjectAccessReview>;
      refuse([...specErrors(spec), ...userErrors(spec), ...metadataErrors(metadata)]);
      return answer(body, callerOf(spec));
    },
    async SelfSubjectAccessReview({ body, caller }) {
      const { spec = {}, metadata = {} } = body as Partial<SubjectAccessReview>;
      refuse([...specErrors(spec), ...metadataErrors(metadata)]);
      return answer(body, caller);
    },
    async LocalSubjectAccessReview({ body, namespace }) {
      const { spec = {}, metadata = {} } = body as Partial<SubjectAccessReview>;
      refuse([...specErrors(spec), ...userErrors(spec), ...localErrors(spec, metadata, namespace)]);
      return answer(body, callerOf(spec));
    },
    async SelfSubjectRulesReview({ body, caller }) {
      const { namespace = "" } = (body as SelfSubjectRulesReview).spec ?? {};
      if (namespace === "") throw badRequest("no namespace on request");
      const { apiVersion, kind } = body;
      return { apiVersion, kind, metadata: {}, spec: {}, status: rulesOf(caller, namespace, roles) } as KubeObject;
    },
  };
}

function rulesOf(caller: Caller, namespace: string, roles: RoleIndex) {
  const { rules, problems } = roles.grants(caller, namespace);
  // What a kubelet may do depends on its pods, so that no list of rules is all of it.
  const isNode = nodeOf(caller) !== undefined;
  const errors = [...(isNode ? ["node authorizer does not support user rule resolution"] : []), ...problems];
  const [first = ""] = errors;
  return {
    resourceRules: rules
      .filter(({ rule }) => (rule.resources ?? []).length > 0)
      .map(({ rule: { verbs, apiGroups, resources, resourceNames } }) => ({
        verbs,
        apiGroups,
        resources,
        ...(resourceNames && { resourceNames }),
      })),
    nonResourceRules: rules
      .filter(({ rule }) => (rule.nonResourceURLs ?? []).length > 0)
      .map(({ rule: { verbs, nonResourceURLs } }) => ({ verbs, nonResourceURLs })),
    incomplete: isNode,
    ...(errors.length > 0 && { evaluationError: errors.length === 1 ? first : `[${errors.join(", ")}]` }),
  };
}

function attributesOf({ resourceAttributes, nonResourceAttributes }: Spec): Attributes {
  if (resourceAttributes === undefined) {
    const { verb = "", path = "" } = nonResourceAttributes ?? {};
    return { verb, path };
  }
  const { verb = "", group = "", version = "*", resource = "", subresource = "" } = resourceAttributes;
  const { namespace = "", name = "", fieldSelector, labelSelector } = resourceAttributes;
  const equal = fieldSelector?.requirements?.filter(
    ({ operator, values }) => operator === "In" && values?.length === 1,
  );
  const fields = fieldSelector?.rawSelector ?? equal?.map(({ key, values }) => `${key}=${values?.[0]}`).join(",");
  const labels = labelSelector?.rawSelector;
  return {
    ...{ verb, group, version, resource, subresource, namespace, name },
    ...(fields && { fieldSelector: fields }),
    ...(labels && { labelSelector: labels }),
  };
}

function callerOf({ user = "", uid, groups = [], extra }: Spec): Caller {
  return { user, groups, ...(uid && { uid }), ...(extra && { extra: extra as Record<string, string[]> }) };
}

function specErrors({ resourceAttributes, nonResourceAttributes }: Spec): FieldError[] {
  if (resourceAttributes !== undefined && nonResourceAttributes !== undefined) {
    const told = "cannot be specified in combination with resourceAttributes";
    return [invalidField("spec.nonResourceAttributes", inner(nonResourceAttributes), told)];
  }
  if (resourceAttributes === undefined && nonResourceAttributes === undefined) {
    const told = "exactly one of nonResourceAttributes or resourceAttributes must be specified";
    return [invalidField("spec.resourceAttributes", undefined, told)];
  }
  return [];
}

/** As the real server has it inside, and tells it. */
const inner = ({ path = "", verb = "" }: { path?: string; verb?: string }) => ({ Path: path, Verb: verb });

/** Beside the rest of what may be wrong, in the order in which the real server tells it. */
function userErrors(spec: Spec): FieldError[] {
  const { user = "", groups = [], resourceAttributes } = spec;
  const nobody = user === "" && groups.length === 0;
  return [
    ...(nobody ? [invalidField("spec.user", "", "at least one of user or group must be specified")] : []),
    ...(["fieldSelector", "labelSelector"] as const).flatMap((name) =>
      selectorErrors(name, resourceAttributes?.[name]),
    ),
  ];
}

function selectorErrors(
  name: string,
  selector: { rawSelector?: string | undefined; requirements?: readonly unknown[] | undefined } | undefined,
): FieldError[] {
  if (selector === undefined) return [];
  const path = `spec.resourceAttributes.${name}`;
  const { rawSelector = "", requirements = [] } = selector;
  if (rawSelector !== "" && requirements.length > 0) {
    const told = "may not specified at the same time as requirements";
    return [invalidField(`${path}.rawSelector`, rawSelector, told)];
  }
  if (rawSelector !== "" || requirements.length > 0) return [];
  return [required(`${path}.requirements`, `when ${path} is specified, requirements or rawSelector is required`)];
}

function metadataErrors(metadata: KubeObject["metadata"]): FieldError[] {
  const { managedFields: _, ...rest } = metadata ?? {};
  return Object.keys(rest).length === 0 ? [] : [invalidField("metadata", metadata, "must be empty")];
}

function localErrors(spec: Spec, metadata: KubeObject["metadata"], namespace: string): FieldError[] {
  const { managedFields: _, namespace: __, ...rest } = metadata ?? {};
  const { resourceAttributes, nonResourceAttributes } = spec;
  const asked = resourceAttributes?.namespace ?? "";
  return [
    ...(Object.keys(rest).length === 0
      ? []
      : [invalidField("metadata", metadata, "must be empty except for namespace")]),
    ...(resourceAttributes !== undefined && asked !== namespace
      ? [invalidField("spec.resourceAttributes.namespace", asked, "must match metadata.namespace")]
      : []),
    ...(nonResourceAttributes !== undefined
      ? [invalidField("spec.nonResourceAttributes", inner(nonResourceAttributes), "disallowed on this kind of request")]
      : []),
  ];
}

/** The real server does not know the kind any more when it says this. */
function refuse(errors: readonly FieldError[]): void {
  if (errors.length === 0) return;
  const { code, reason, message, details } = invalid({ group: "authorization.k8s.io", kind: "" }, "", errors);
  const { kind: _, ...rest } = details ?? {};
  throw new StatusError(code, reason, message, rest);
}
