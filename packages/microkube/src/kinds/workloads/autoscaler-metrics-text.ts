import { type Autoscaler, type Metric, metricFields } from "./horizontal-pod-autoscaler.ts";

const shown = 2;
type Amounts = { value?: string | number; averageValue?: string | number; averageUtilization?: number };

/** What is aimed at and what is: `cpu: 12%/80%`. */
export function metricsText({ spec, status }: Autoscaler): string {
  const metrics = spec?.metrics ?? [];
  if (metrics.length === 0) return "<none>";
  const texts = metrics.map((metric, i) => metricText(metric, status?.currentMetrics?.[i] as Metric | undefined));
  const text = texts.slice(0, shown).join(", ");
  return texts.length > shown ? `${text} + ${texts.length - shown} more...` : text;
}

function metricText(metric: Metric, status: Metric | undefined): string {
  const field = metricFields[metric.type as keyof typeof metricFields];
  if (field === undefined) return "<unknown type>";
  const source = metric[field] as { name?: string; target?: Amounts } | undefined;
  const current = (status?.[field] as { current?: Amounts } | undefined)?.current;
  const { target = {} } = source ?? {};
  const name = field === "resource" || field === "containerResource" ? `${source?.name}: ` : "";
  if (name !== "" && target.averageValue === undefined) {
    return `${name}${percent(current?.averageUtilization, "<unknown>")}/${percent(target.averageUtilization, "<auto>")}`;
  }
  if (target.averageValue !== undefined) {
    const average = field === "external" || field === "object" ? " (avg)" : "";
    return `${name}${current?.averageValue ?? "<unknown>"}/${target.averageValue}${average}`;
  }
  return `${current?.value ?? "<unknown>"}/${target.value}`;
}

const percent = (value: number | undefined, none: string): string => (value === undefined ? none : `${value}%`);
