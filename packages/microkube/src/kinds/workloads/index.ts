import type { KindDefinition } from "../kind.ts";
import { controllerRevision } from "./controller-revision.ts";
import { cronJob } from "./cron-job.ts";
import { daemonSet } from "./daemon-set.ts";
import { deployment } from "./deployment.ts";
import { horizontalPodAutoscaler } from "./horizontal-pod-autoscaler.ts";
import { job } from "./job.ts";
import { podDisruptionBudget } from "./pod-disruption-budget.ts";
import { replicaSet, replicationController } from "./replica-set.ts";
import { statefulSet } from "./stateful-set.ts";

/** What runs pods, and what watches over how many there are. */
export const workloadKinds: readonly KindDefinition[] = [
  controllerRevision,
  cronJob,
  daemonSet,
  deployment,
  horizontalPodAutoscaler,
  job,
  podDisruptionBudget,
  replicaSet,
  replicationController,
  statefulSet,
];
