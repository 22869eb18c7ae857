import { ReplicaSet } from "@fjord/kube";
import type { ControlLoop } from "../control-loop.ts";
import { selects } from "../label-selector.ts";
import { replicaLoop } from "./replica-controller.ts";

export const replicaSetController: ControlLoop = (means) =>
  replicaLoop(means, {
    kind: ReplicaSet,
    name: "replicaset-controller",
    spec: ({ spec }) => ({
      replicas: spec?.replicas ?? 1,
      minReadySeconds: spec?.minReadySeconds ?? 0,
      template: spec?.template ?? {},
    }),
    status: ({ status }) => status,
    selects: ({ spec }, labels) => selects(spec?.selector, labels),
    countsTerminating: true,
  });
