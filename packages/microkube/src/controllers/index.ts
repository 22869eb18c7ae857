import type { ControlLoop } from "./control-loop.ts";
import { deploymentController } from "./deployment/deployment-controller.ts";
import { replicaSetController } from "./replica-set/replica-set-controller.ts";
import { replicationController } from "./replica-set/replication-controller.ts";

export type { ControlLoop, ControlMeans } from "./control-loop.ts";
export { deploymentController, replicaSetController, replicationController };

export interface ControlLoopsOptions {
  /** PEM of the authority that pods trust, for the ConfigMap `kube-root-ca.crt` of every namespace. */
  readonly rootCa?: string;
}

/** All controllers of a cluster. */
export function controlLoops(_options: ControlLoopsOptions = {}): ControlLoop[] {
  return [deploymentController, replicaSetController, replicationController];
}
