import {
  ControllerRevision,
  CronJob,
  DaemonSet,
  Deployment,
  EndpointSlice,
  Endpoints,
  HorizontalPodAutoscaler,
  Job,
  Lease,
  Namespace,
  Node,
  PersistentVolume,
  PersistentVolumeClaim,
  Pod,
  PodDisruptionBudget,
  ReplicaSet,
  ReplicationController,
  ResourceQuota,
  Service,
  ServiceAccount,
  StatefulSet,
  StorageClass,
} from "@fjord/kube";
import { horizontalPodAutoscalerController } from "./autoscaling/autoscaler-controller.ts";
import type { ControlLoop } from "./control-loop.ts";
import { cronJobController } from "./cron-job/cron-job-controller.ts";
import { daemonSetController } from "./daemon-set/daemon-set-controller.ts";
import { deploymentController } from "./deployment/deployment-controller.ts";
import { disruptionController } from "./disruption/disruption-controller.ts";
import { endpointSliceController } from "./endpoints/endpoint-slice-controller.ts";
import { endpointsController } from "./endpoints/endpoints-controller.ts";
import { endpointSliceMirroringController } from "./endpoints/mirroring-controller.ts";
import { garbageCollector } from "./garbage-collector/garbage-collector.ts";
import { jobController } from "./job/job-controller.ts";
import { ttlAfterFinishedController } from "./job/ttl-controller.ts";
import { namespaceController } from "./namespace/namespace-controller.ts";
import { rootCaController } from "./namespace/root-ca-controller.ts";
import { serviceAccountController } from "./namespace/service-account-controller.ts";
import { nodeIpamController } from "./node/node-ipam-controller.ts";
import { nodeLifecycleController } from "./node/node-lifecycle-controller.ts";
import { nodeTtlController } from "./node/node-ttl-controller.ts";
import { taintEvictionController } from "./node/taint-eviction-controller.ts";
import { podCollector } from "./pod-upkeep/pod-collector.ts";
import { resourceQuotaController } from "./quota/resource-quota-controller.ts";
import { replicaSetController } from "./replica-set/replica-set-controller.ts";
import { replicationController } from "./replica-set/replication-controller.ts";
import { statefulSetController } from "./stateful-set/stateful-set-controller.ts";
import { ephemeralClaimController } from "./volume/ephemeral-claim-controller.ts";
import { claimProtectionController, volumeProtectionController } from "./volume/protection-controllers.ts";
import { LOCAL_PATH_PROVISIONER, type VolumeBinderOptions, volumeBinder } from "./volume/volume-binder.ts";

export type { ControlLoop, ControlMeans } from "./control-loop.ts";
export {
  claimProtectionController,
  cronJobController,
  daemonSetController,
  deploymentController,
  disruptionController,
  endpointSliceController,
  endpointSliceMirroringController,
  endpointsController,
  ephemeralClaimController,
  garbageCollector,
  horizontalPodAutoscalerController,
  jobController,
  LOCAL_PATH_PROVISIONER,
  namespaceController,
  nodeIpamController,
  nodeLifecycleController,
  nodeTtlController,
  podCollector,
  replicaSetController,
  replicationController,
  resourceQuotaController,
  rootCaController,
  serviceAccountController,
  statefulSetController,
  taintEvictionController,
  ttlAfterFinishedController,
  type VolumeBinderOptions,
  volumeBinder,
  volumeProtectionController,
};

export interface ControlLoopsOptions {
  /** PEM of the authority that pods trust, for the ConfigMap `kube-root-ca.crt` of every namespace. */
  readonly rootCa?: string;
  /** The range of pods' addresses, of which each node gets a part. Absent: nodes bring their own. */
  readonly podCidr?: string;
  /** How large a part is. @default 24 */
  readonly nodeCidrBits?: number;
  /** How volumes are made out of folders of nodes. */
  readonly volumes?: VolumeBinderOptions;
}

/** Kinds that some controller keeps whole: the collector need not watch them again. */
const keptWhole = [
  ControllerRevision,
  CronJob,
  DaemonSet,
  Deployment,
  EndpointSlice,
  Endpoints,
  HorizontalPodAutoscaler,
  Job,
  Lease,
  Namespace,
  Node,
  PersistentVolume,
  PersistentVolumeClaim,
  Pod,
  PodDisruptionBudget,
  ReplicaSet,
  ReplicationController,
  ResourceQuota,
  Service,
  ServiceAccount,
  StatefulSet,
  StorageClass,
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
    ttlAfterFinishedController,
    podCollector,
    disruptionController,
    claimProtectionController,
    volumeProtectionController,
    nodeLifecycleController,
    nodeTtlController,
    taintEvictionController,
    resourceQuotaController,
    horizontalPodAutoscalerController,
    ephemeralClaimController,
    garbageCollector({ shared: keptWhole }),
    ...(options.rootCa === undefined ? [] : [rootCaController(options.rootCa)]),
    volumeBinder(options.volumes),
    ...(options.podCidr === undefined ? [] : [nodeIpamController(options.podCidr, options.nodeCidrBits)]),
  ];
}
