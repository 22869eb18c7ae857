import type { KubeObject } from "@fjord/base";
import type { Autoscaler, Metric } from "./horizontal-pod-autoscaler.ts";

const prefix = "autoscaling.alpha.kubernetes.io/";

interface Old extends KubeObject {
  spec?: {
    scaleTargetRef?: unknown;
    minReplicas?: number;
    maxReplicas?: number;
    targetCPUUtilizationPercentage?: number;
  };
  status?: {
    observedGeneration?: number;
    lastScaleTime?: string;
    currentReplicas?: number;
    desiredReplicas?: number;
    currentCPUUtilizationPercentage?: number;
  };
}

/** The first version knows one metric; the others are in annotations, so that nothing is lost on the way. */
export function convertAutoscaler(object: KubeObject, toVersion: string): KubeObject {
  return toVersion === "v1" ? toFirst(object as unknown as Autoscaler) : toSecond(object as Old);
}

function toFirst({ metadata, spec = {}, status = {} }: Autoscaler): KubeObject {
  const metrics = spec.metrics ?? [];
  const cpu = metrics.find(isCpuUtilization);
  const rest = metrics.filter((one) => one !== cpu);
  const currentMetrics = (status.currentMetrics ?? []) as Metric[];
  const currentCpu = currentMetrics.find(({ type, resource }) => type === "Resource" && resource?.name === "cpu");
  const current = (currentCpu?.resource as { current?: { averageUtilization?: number } } | undefined)?.current;
  const annotations: Record<string, string> = { ...metadata.annotations };
  if (rest.length > 0) annotations[`${prefix}metrics`] = JSON.stringify(rest);
  if (currentMetrics.length > 0) annotations[`${prefix}current-metrics`] = JSON.stringify(currentMetrics);
  if ((status.conditions ?? []).length > 0) annotations[`${prefix}conditions`] = JSON.stringify(status.conditions);
  if (spec.behavior !== undefined) annotations[`${prefix}behavior`] = JSON.stringify(capitalized(spec.behavior));
  const { scaleTargetRef, minReplicas, maxReplicas } = spec;
  const target = cpu?.resource?.target?.averageUtilization;
  const { observedGeneration, lastScaleTime, currentReplicas, desiredReplicas } = status;
  return JSON.parse(
    JSON.stringify({
      apiVersion: "autoscaling/v1",
      kind: "HorizontalPodAutoscaler",
      metadata: { ...metadata, ...(Object.keys(annotations).length > 0 && { annotations }) },
      spec: { scaleTargetRef, minReplicas, maxReplicas, targetCPUUtilizationPercentage: target },
      status: {
        observedGeneration,
        lastScaleTime,
        currentReplicas: currentReplicas ?? 0,
        desiredReplicas: desiredReplicas ?? 0,
        currentCPUUtilizationPercentage: current?.averageUtilization,
      },
    }),
  );
}

const isCpuUtilization = ({ type, resource }: Metric): boolean =>
  type === "Resource" && resource?.name === "cpu" && resource.target?.averageUtilization !== undefined;

function toSecond({ metadata, spec = {}, status = {} }: Old): KubeObject {
  const annotations: Record<string, string> = { ...metadata.annotations };
  const take = (name: string): unknown => {
    const text = annotations[`${prefix}${name}`];
    delete annotations[`${prefix}${name}`];
    if (text === undefined) return undefined;
    try {
      return JSON.parse(text);
    } catch {
      return undefined;
    }
  };
  const metrics = (take("metrics") ?? []) as Metric[];
  const currentMetrics = take("current-metrics");
  const conditions = take("conditions");
  const behavior = take("behavior");
  const { targetCPUUtilizationPercentage: target, ...kept } = spec;
  if (target !== undefined) {
    const aim = { type: "Utilization", averageUtilization: target };
    metrics.push({ type: "Resource", resource: { name: "cpu", target: aim } });
  }
  const { currentCPUUtilizationPercentage: _, ...state } = status;
  const { annotations: __, ...rest } = metadata;
  return JSON.parse(
    JSON.stringify({
      apiVersion: "autoscaling/v2",
      kind: "HorizontalPodAutoscaler",
      metadata: { ...rest, ...(Object.keys(annotations).length > 0 && { annotations }) },
      spec: { ...kept, ...(metrics.length > 0 && { metrics }), behavior: lowered(behavior) },
      status: { ...state, currentMetrics, conditions },
    }),
  );
}

/** The annotation has the names of Kubernetes' inner types. */
const capitalized = (value: unknown): unknown => renamed(value, (name) => name.charAt(0).toUpperCase() + name.slice(1));
const lowered = (value: unknown): unknown => renamed(value, (name) => name.charAt(0).toLowerCase() + name.slice(1));

function renamed(value: unknown, rename: (name: string) => string): unknown {
  if (Array.isArray(value)) return value.map((one) => renamed(one, rename));
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([name, one]) => [rename(name), renamed(one, rename)]));
}
