export { Counter, Gauge } from "./counter.ts";
export { Histogram } from "./histogram.ts";
export { type Metric, Registry } from "./registry.ts";
export type { Labels, MetricOptions } from "./series.ts";
