import type { IHorizontalPodAutoscaler } from "kubernetes-models/autoscaling/v2/HorizontalPodAutoscaler";
import type { IMetricSpec } from "kubernetes-models/autoscaling/v2/MetricSpec";
import type { FieldError } from "../../field-error.ts";
import { forbiddenField, invalidField, notSupported, required } from "../../field-error.ts";
import { columnsOf, text } from "../columns.ts";
import { type Draft, type DraftObject, defineResource } from "../kind.ts";
import { pathSegment } from "../values/name.ts";
import { nonNegative } from "../values/number.ts";
import { amountOf } from "../values/quantity.ts";
import { metricsText } from "./autoscaler-metrics-text.ts";
import { convertAutoscaler } from "./autoscaler-versions.ts";

export type Autoscaler = DraftObject<IHorizontalPodAutoscaler>;
type Spec = NonNullable<Autoscaler["spec"]>;
export type Metric = Draft<IMetricSpec>;
type Rules = NonNullable<NonNullable<Spec["behavior"]>["scaleUp"]>;

/** By the type of a metric, the field that has it. */
export const metricFields = {
  Object: "object",
  Pods: "pods",
  Resource: "resource",
  External: "external",
  ContainerResource: "containerResource",
} as const;

export const horizontalPodAutoscaler = defineResource<IHorizontalPodAutoscaler>({
  group: "autoscaling",
  kind: "HorizontalPodAutoscaler",
  storedVersion: "v2",
  hasStatus: true,
  convert: convertAutoscaler,
  default({ spec, status }) {
    if (status !== undefined) status.desiredReplicas ??= 0;
    if (spec === undefined) return;
    spec.minReplicas ??= 1;
    if ((spec.metrics ?? []).length === 0) {
      const target = { type: "Utilization", averageUtilization: 80 };
      spec.metrics = [{ type: "Resource", resource: { name: "cpu", target } }];
    }
    if (spec.behavior === undefined) return;
    spec.behavior.scaleUp = withDefaults(spec.behavior.scaleUp, 0, [
      { type: "Pods", value: 4, periodSeconds: 15 },
      { type: "Percent", value: 100, periodSeconds: 15 },
    ]);
    spec.behavior.scaleDown = withDefaults(spec.behavior.scaleDown, undefined, [
      { type: "Percent", value: 100, periodSeconds: 15 },
    ]);
  },
  validate: ({ spec }) => [...validateSpec(spec ?? {}), ...validateTargetVersion(spec ?? {})],
  validateUpdate({ spec = {} }, { spec: before = {} }) {
    const [now, old] = [spec.scaleTargetRef, before.scaleTargetRef];
    const isKept = now?.kind === old?.kind && now?.apiVersion === old?.apiVersion;
    return [...validateSpec(spec), ...(isKept ? [] : validateTargetVersion(spec))];
  },
  validateStatus: ({ status }) => [
    ...nonNegative(status?.currentReplicas, "status.currentReplicas"),
    ...nonNegative(status?.desiredReplicas, "status.desiredReplicas"),
  ],
  columns: columnsOf<IHorizontalPodAutoscaler>(
    text("Reference", ({ spec }) => `${spec?.scaleTargetRef?.kind ?? ""}/${spec?.scaleTargetRef?.name ?? ""}`),
    text("Targets", (object) => metricsText(object)),
    text("MinPods", ({ spec }) => String(spec?.minReplicas ?? "<unset>")),
    text("MaxPods", ({ spec }) => spec?.maxReplicas ?? 0),
    text("Replicas", ({ status }) => status?.currentReplicas ?? 0),
  ),
});

function withDefaults(
  rules: Rules | undefined,
  window: number | undefined,
  policies: NonNullable<Rules["policies"]>,
): Rules {
  return {
    ...(window !== undefined && { stabilizationWindowSeconds: window }),
    selectPolicy: "Max",
    policies,
    ...Object.fromEntries(Object.entries(rules ?? {}).filter(([, value]) => value !== undefined)),
  };
}

function validateSpec(spec: Spec): FieldError[] {
  const { minReplicas, maxReplicas = 0 } = spec;
  const errors: FieldError[] = [];
  if (minReplicas !== undefined && minReplicas < 1) {
    errors.push(invalidField("spec.minReplicas", minReplicas, "must be greater than or equal to 1"));
  }
  if (maxReplicas === 0) errors.push(required("spec.maxReplicas", "must be set and greater than 0"));
  else if (maxReplicas < 0) {
    errors.push(invalidField("spec.maxReplicas", maxReplicas, "must be greater than or equal to 1"));
  }
  if (minReplicas !== undefined && maxReplicas < minReplicas) {
    const why = "must be greater than or equal to `minReplicas`";
    errors.push(invalidField("spec.maxReplicas", maxReplicas, why));
  }
  errors.push(...validateReference(spec.scaleTargetRef ?? {}, "spec.scaleTargetRef"));
  errors.push(...(spec.metrics ?? []).flatMap((metric, i) => validateMetric(metric, `spec.metrics[${i}]`)));
  const isFromZero = (spec.metrics ?? []).some(({ type }) => type === "Object" || type === "External");
  if (minReplicas === 0 && !isFromZero) {
    const why = "must specify at least one Object or External metric to support scaling to zero replicas";
    errors.push(forbiddenField("spec.metrics", why));
  }
  for (const field of ["scaleUp", "scaleDown"] as const) {
    const rules = spec.behavior?.[field];
    if (rules !== undefined) errors.push(...validateRules(rules, `spec.behavior.${field}`));
  }
  return errors;
}

/** Of the core group only one kind can be scaled. */
function validateTargetVersion({ scaleTargetRef = {} }: Spec): FieldError[] {
  const { apiVersion = "", kind } = scaleTargetRef;
  if (apiVersion.includes("/") || kind === "ReplicationController") return [];
  return [invalidField("spec.scaleTargetRef.apiVersion", apiVersion, "apiVersion must specify API group")];
}

function validateReference({ kind = "", name = "" }: { kind?: string; name?: string }, path: string): FieldError[] {
  return [
    ...(kind === ""
      ? [required(`${path}.kind`)]
      : pathSegment(kind).map((one) => invalidField(`${path}.kind`, kind, one))),
    ...(name === ""
      ? [required(`${path}.name`)]
      : pathSegment(name).map((one) => invalidField(`${path}.name`, name, one))),
  ];
}

function validateMetric(metric: Metric, path: string): FieldError[] {
  const { type = "" } = metric;
  if (type === "") return [required(`${path}.type`, "must specify a metric source type")];
  const known = Object.keys(metricFields).sort();
  const field = metricFields[type as keyof typeof metricFields];
  if (field === undefined) return [notSupported(`${path}.type`, type, known)];
  const errors: FieldError[] = [];
  for (const other of Object.values(metricFields)) {
    if (other === field || metric[other] === undefined) continue;
    errors.push(forbiddenField(`${path}.${other}`, "must populate the given metric source only"));
  }
  const source = metric[field];
  if (source === undefined) {
    return [...errors, required(`${path}.${field}`, "must populate information for the given metric source")];
  }
  return [...errors, ...validateTarget(source, field, `${path}.${field}`)];
}

interface Source {
  name?: string;
  container?: string;
  metric?: { name?: string };
  describedObject?: { kind?: string; name?: string };
  target?: { type?: string; value?: string | number; averageValue?: string | number; averageUtilization?: number };
}

function validateTarget(source: Source, field: string, path: string): FieldError[] {
  const errors: FieldError[] = [];
  if (field === "object") errors.push(...validateReference(source.describedObject ?? {}, `${path}.describedObject`));
  if (field === "resource" || field === "containerResource") {
    if (!source.name) errors.push(required(`${path}.name`, "must specify a resource name"));
    if (field === "containerResource" && !source.container) {
      errors.push(required(`${path}.container`, "must specify a container"));
    }
  } else if (!source.metric?.name) errors.push(required(`${path}.metric.name`, "must specify a metric name"));
  const { type = "", value, averageValue, averageUtilization } = source.target ?? {};
  const at = `${path}.target`;
  if (type === "") errors.push(required(`${at}.type`, "must specify a metric target type"));
  else if (!["Utilization", "Value", "AverageValue"].includes(type)) {
    errors.push(invalidField(`${at}.type`, type, "must be either Utilization, Value, or AverageValue"));
  }
  for (const [name, amount] of [
    ["value", value],
    ["averageValue", averageValue],
  ] as const) {
    if (amount === undefined || amountOf(amount) > 0n) continue;
    errors.push(invalidField(`${at}.${name}`, amount, "must be positive"));
  }
  if (averageUtilization !== undefined && averageUtilization < 1) {
    errors.push(invalidField(`${at}.averageUtilization`, averageUtilization, "must be greater than 0"));
  }
  return errors;
}

const selections = ["Disabled", "Max", "Min"];

function validateRules(rules: Rules, path: string): FieldError[] {
  const { stabilizationWindowSeconds: window, selectPolicy, policies = [] } = rules;
  const errors: FieldError[] = [];
  if (window !== undefined && (window < 0 || window > 3600)) {
    const why = window < 0 ? "must be greater than or equal to zero" : "must be less than or equal to 3600";
    errors.push(invalidField(`${path}.stabilizationWindowSeconds`, window, why));
  }
  if (selectPolicy !== undefined && !selections.includes(selectPolicy)) {
    errors.push(notSupported(`${path}.selectPolicy`, selectPolicy, selections));
  }
  if (policies.length === 0) errors.push(required(`${path}.policies`, "must specify at least one Policy"));
  for (const [i, { type = "", value = 0, periodSeconds: period = 0 }] of policies.entries()) {
    const at = `${path}.policies[${i}]`;
    if (type !== "Pods" && type !== "Percent") errors.push(notSupported(`${at}.type`, type, ["Percent", "Pods"]));
    if (value <= 0) errors.push(invalidField(`${at}.value`, value, "must be greater than zero"));
    if (period <= 0) errors.push(invalidField(`${at}.periodSeconds`, period, "must be greater than zero"));
    if (period > 1800) errors.push(invalidField(`${at}.periodSeconds`, period, "must be less than or equal to 1800"));
  }
  return errors;
}
