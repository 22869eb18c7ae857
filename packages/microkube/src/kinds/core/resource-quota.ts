import type { IResourceQuota } from "kubernetes-models/v1/ResourceQuota";
import type { FieldError } from "../../field-error.ts";
import { invalidField, required } from "../../field-error.ts";
import { columnsOf, text } from "../columns.ts";
import { type DraftObject, defineResource } from "../kind.ts";
import { isStandardQuotaResource, validateQuotaResourceName, validateResourceAmount } from "../pod/resource-names.ts";
import { immutableText } from "../values/equality.ts";

type Quota = DraftObject<IResourceQuota>;
type Spec = NonNullable<Quota["spec"]>;
type Amounts = Readonly<Record<string, string | number | undefined>>;

const podResources = ["pods", "cpu", "memory", "limits.cpu", "limits.memory", "requests.cpu", "requests.memory"];
/** Which resources a scope can count. */
const scopes: Readonly<Record<string, readonly string[]>> = {
  Terminating: podResources,
  NotTerminating: podResources,
  BestEffort: ["pods"],
  NotBestEffort: podResources,
  PriorityClass: podResources,
  CrossNamespacePodAffinity: podResources,
  VolumeAttributesClass: ["persistentvolumeclaims", "requests.storage"],
};
const existing = ["BestEffort", "NotBestEffort", "Terminating", "NotTerminating", "CrossNamespacePodAffinity"];
const contrary = [
  ["BestEffort", "NotBestEffort"],
  ["Terminating", "NotTerminating"],
] as const;

export const resourceQuota = defineResource<IResourceQuota>({
  group: "",
  kind: "ResourceQuota",
  hasStatus: true,
  validate: ({ spec }) => validateSpec(spec ?? {}),
  validateUpdate({ spec = {} }, { spec: before = {} }) {
    const now = new Set(spec.scopes);
    const old = new Set(before.scopes);
    const isSame = now.size === old.size && [...now].every((scope) => old.has(scope));
    const errors = validateSpec(spec);
    return isSame ? errors : [...errors, invalidField("spec.scopes", spec.scopes ?? null, immutableText)];
  },
  validateStatus: ({ status }) => [
    ...validateAmounts(status?.hard, "status.hard"),
    ...validateAmounts(status?.used, "status.used"),
  ],
  columns: columnsOf<IResourceQuota>(
    text("Request", (object) => usage(object, (name) => !name.startsWith("limits."))),
    text("Limit", (object) => usage(object, (name) => name.startsWith("limits."))),
  ),
});

function usage({ status }: Quota, isShown: (name: string) => boolean): string {
  return Object.keys(status?.hard ?? {})
    .filter(isShown)
    .sort()
    .map((name) => `${name}: ${status?.used?.[name] ?? "0"}/${status?.hard?.[name]}`)
    .join(", ");
}

function validateAmounts(amounts: Amounts | undefined, path: string): FieldError[] {
  return Object.entries(amounts ?? {}).flatMap(([name, quantity]) => [
    ...validateQuotaResourceName(name, `${path}[${name}]`),
    ...validateResourceAmount(name, String(quantity), `${path}[${name}]`),
  ]);
}

function validateSpec(spec: Spec): FieldError[] {
  const errors = validateAmounts(spec.hard, "spec.hard");
  const list = (spec.scopes ?? []).map((scope) => scope ?? "");
  for (const scope of list) {
    if (scopes[scope] === undefined) errors.push(invalidField("spec.scopes", list, "unsupported scope"));
    errors.push(...uncountable(spec, scope).map((text) => invalidField("spec.scopes", list, text)));
  }
  if (isContrary(list)) errors.push(invalidField("spec.scopes", list, "conflicting scopes"));
  return [...errors, ...validateSelector(spec)];
}

function uncountable({ hard }: Spec, scope: string): string[] {
  const countable = scopes[scope];
  return Object.keys(hard ?? {})
    .filter((name) => isStandardQuotaResource(name) && countable !== undefined && !countable.includes(name))
    .map(() => "unsupported scope applied to resource");
}

const isContrary = (list: readonly string[]): boolean =>
  contrary.some(([a, b]) => list.includes(a) && list.includes(b));

function validateSelector(spec: Spec): FieldError[] {
  const path = "spec.scopeSelector.matchExpressions";
  const expressions = spec.scopeSelector?.matchExpressions ?? [];
  const errors = expressions.flatMap(({ scopeName = "", operator = "", values = [] }) => {
    const own: FieldError[] = [];
    if (scopes[scopeName] === undefined) own.push(invalidField(`${path}.scopeName`, scopeName, "unsupported scope"));
    const selector = { MatchExpressions: expressions.map((one) => capitalized(one)) };
    own.push(...uncountable(spec, scopeName).map((text) => invalidField(path, selector, text)));
    if (existing.includes(scopeName) && operator !== "Exists") {
      const text =
        "must be 'Exists' when scope is any of ResourceQuotaScopeTerminating, ResourceQuotaScopeNotTerminating, ResourceQuotaScopeBestEffort, ResourceQuotaScopeNotBestEffort or ResourceQuotaScopeCrossNamespacePodAffinity";
      own.push(invalidField(`${path}.operator`, operator, text));
    }
    if (operator === "In" || operator === "NotIn") {
      const text = "must be at least one value when `operator` is 'In' or 'NotIn' for scope selector";
      if (values.length === 0) own.push(required(`${path}.values`, text));
    } else if (operator === "Exists" || operator === "DoesNotExist") {
      const text = "must be no value when `operator` is 'Exist' or 'DoesNotExist' for scope selector";
      if (values.length > 0) own.push(invalidField(`${path}.values`, values, text));
    } else own.push(invalidField(`${path}.operator`, operator, "not a valid selector operator"));
    return own;
  });
  if (isContrary(expressions.map(({ scopeName }) => scopeName ?? ""))) {
    errors.push(invalidField(path, spec.scopes ?? null, "conflicting scopes"));
  }
  return errors;
}

const capitalized = ({
  scopeName,
  operator,
  values,
}: {
  scopeName?: string;
  operator?: string;
  values?: string[];
}) => ({
  ScopeName: scopeName ?? "",
  Operator: operator ?? "",
  Values: values ?? null,
});
