import { Deployment, type ReplicaSet } from "@fjord/kube";
import { controllerReference } from "../ownership.ts";
import { templateHash } from "../workload/template-hash.ts";
import { newAnnotations, sizeAnnotations, TEMPLATE_HASH } from "./revision.ts";

const LONGEST_NAME = 253;

/** The ReplicaSet for a Deployment's present template; its name follows from the template, so that it is made once. */
export function forgeReplicaSet(deployment: Deployment, revision: bigint, replicas: number): ReplicaSet {
  const { spec, status, metadata } = deployment;
  const hash = templateHash(spec?.template, status?.collisionCount);
  const labels = { ...spec?.template.metadata?.labels, [TEMPLATE_HASH]: hash };
  return {
    apiVersion: "apps/v1",
    kind: "ReplicaSet",
    metadata: {
      name: `${metadata.name?.slice(0, LONGEST_NAME - hash.length - 1)}-${hash}`,
      namespace: metadata.namespace,
      labels,
      annotations: { ...newAnnotations(deployment, undefined, revision), ...sizeAnnotations(deployment) },
      ownerReferences: [controllerReference(Deployment, deployment)],
    },
    spec: {
      replicas,
      ...(spec?.minReadySeconds && { minReadySeconds: spec.minReadySeconds }),
      selector: { ...spec?.selector, matchLabels: { ...spec?.selector.matchLabels, [TEMPLATE_HASH]: hash } },
      template: { ...spec?.template, metadata: { ...spec?.template.metadata, labels } },
    },
  };
}
