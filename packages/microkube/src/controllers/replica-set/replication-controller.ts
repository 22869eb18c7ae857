import { ReplicationController } from "@fjord/kube";
import type { ControlLoop } from "../control-loop.ts";
import { includesLabels } from "../label-selector.ts";
import { replicaLoop } from "./replica-controller.ts";

export const replicationController: ControlLoop = (means) =>
  replicaLoop(means, {
    kind: ReplicationController,
    name: "replication-controller",
    spec: ({ spec }) => ({
      replicas: spec?.replicas ?? 1,
      minReadySeconds: spec?.minReadySeconds ?? 0,
      template: spec?.template ?? {},
    }),
    status: ({ status }) => status,
    selects: ({ spec }, labels) =>
      Object.keys(spec?.selector ?? {}).length > 0 && includesLabels(labels, spec?.selector),
    countsTerminating: false,
  });
