import type { KindCase } from "./case.ts";
import { clusterCases } from "./cluster.ts";
import { coreCases } from "./core.ts";
import { podCases } from "./pod.ts";
import { workloadCases } from "./workloads.ts";

export type { KindCase } from "./case.ts";
export const allCases: readonly KindCase[] = [...coreCases, ...podCases, ...workloadCases, ...clusterCases];
