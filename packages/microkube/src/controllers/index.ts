import {
  ControllerRevision,
  CronJob,
  DaemonSet,
  Deployment,
  EndpointSlice,
  Endpoints,
  Job,
  Namespace,
  Node,
  PersistentVolumeClaim,
  Pod,
  ReplicaSet,
  ReplicationController,
  Service,
  ServiceAccount,
  StatefulSet,
} from "@fjord/kube";
import type { ControlLoop } from "./control-loop.ts";
import { cronJobController } from "./cron-job/cron-job-controller.ts";
import { daemonSetController } from "./daemon-set/daemon-set-controller.ts";
import { deploymentController } from "./deployment/deployment-controller.ts";
import { endpointSliceController } from "./endpoints/endpoint-slice-controller.ts";
import { endpointsController } from "./endpoints/endpoints-controller.ts";
import { endpointSliceMirroringController } from "./endpoints/mirroring-controller.ts";
import { garbageCollector } from "./garbage-collector/garbage-collector.ts";
import { jobController } from "./job/job-controller.ts";
import { namespaceController } from "./namespace/namespace-controller.ts";
import { rootCaController } from "./namespace/root-ca-controller.ts";
import { serviceAccountController } from "./namespace/service-account-controller.ts";
import { replicaSetController } from "./replica-set/replica-set-controller.ts";
import { replicationController } from "./replica-set/replication-controller.ts";
import { statefulSetController } from "./stateful-set/stateful-set-controller.ts";

export type { ControlLoop, ControlMeans } from "./control-loop.ts";
export {
  cronJobController,
  daemonSetController,
  deploymentController,
  endpointSliceController,
  endpointSliceMirroringController,
  endpointsController,
  garbageCollector,
  jobController,
  namespaceController,
  replicaSetController,
  replicationController,
  rootCaController,
  serviceAccountController,
  statefulSetController,
};

export interface ControlLoopsOptions {
  /** PEM of the authority that pods trust, for the ConfigMap `kube-root-ca.crt` of every namespace. */
  readonly rootCa?: string;
}

/** Kinds that some controller keeps whole: the collector need not watch them again. */
const keptWhole = [
  ControllerRevision,
  CronJob,
  DaemonSet,
  Deployment,
  EndpointSlice,
  Endpoints,
  Job,
  Namespace,
  Node,
  PersistentVolumeClaim,
  Pod,
  ReplicaSet,
  ReplicationController,
  Service,
  ServiceAccount,
  StatefulSet,
];

/** All controllers of a cluster. */
export function controlLoops(options: ControlLoopsOptions = {}): ControlLoop[] {
  return [
    cronJobController,
    daemonSetController,
    deploymentController,
    endpointSliceController,
    endpointsController,
    endpointSliceMirroringController,
    jobController,
    namespaceController,
    serviceAccountController,
    replicaSetController,
    replicationController,
    statefulSetController,
    garbageCollector({ shared: keptWhole }),
    ...(options.rootCa === undefined ? [] : [rootCaController(options.rootCa)]),
  ];
}
