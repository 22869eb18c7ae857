import {
  Deployment,
  EndpointSlice,
  Endpoints,
  Namespace,
  Node,
  Pod,
  ReplicaSet,
  ReplicationController,
  Service,
  ServiceAccount,
} from "@fjord/kube";
import type { ControlLoop } from "./control-loop.ts";
import { deploymentController } from "./deployment/deployment-controller.ts";
import { endpointSliceController } from "./endpoints/endpoint-slice-controller.ts";
import { endpointsController } from "./endpoints/endpoints-controller.ts";
import { endpointSliceMirroringController } from "./endpoints/mirroring-controller.ts";
import { garbageCollector } from "./garbage-collector/garbage-collector.ts";
import { namespaceController } from "./namespace/namespace-controller.ts";
import { rootCaController } from "./namespace/root-ca-controller.ts";
import { serviceAccountController } from "./namespace/service-account-controller.ts";
import { replicaSetController } from "./replica-set/replica-set-controller.ts";
import { replicationController } from "./replica-set/replication-controller.ts";

export type { ControlLoop, ControlMeans } from "./control-loop.ts";
export {
  deploymentController,
  endpointSliceController,
  endpointSliceMirroringController,
  endpointsController,
  garbageCollector,
  namespaceController,
  replicaSetController,
  replicationController,
  rootCaController,
  serviceAccountController,
};

export interface ControlLoopsOptions {
  /** PEM of the authority that pods trust, for the ConfigMap `kube-root-ca.crt` of every namespace. */
  readonly rootCa?: string;
}

/** Kinds that some controller keeps whole: the collector need not watch them again. */
const keptWhole = [
  Deployment,
  Endpoints,
  EndpointSlice,
  Namespace,
  Node,
  Pod,
  ReplicaSet,
  ReplicationController,
  Service,
  ServiceAccount,
];

/** All controllers of a cluster. */
export function controlLoops({ rootCa }: ControlLoopsOptions = {}): ControlLoop[] {
  return [
    deploymentController,
    replicaSetController,
    replicationController,
    garbageCollector({ shared: keptWhole }),
    namespaceController,
    endpointSliceController,
    endpointsController,
    endpointSliceMirroringController,
    serviceAccountController,
    ...(rootCa === undefined ? [] : [rootCaController(rootCa)]),
  ];
}
