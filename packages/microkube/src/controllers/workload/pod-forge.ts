import type { Kind, KubeObject } from "@fjord/base";
import type { Pod } from "@fjord/kube";
import { controllerReference } from "../ownership.ts";
import type { PodTemplate } from "./pod-state.ts";

/** A pod as its owner's template says, owned by it. */
export function forgePod(template: PodTemplate, ownerKind: Kind, owner: KubeObject): Pod {
  const { labels, annotations, finalizers } = template.metadata ?? {};
  return {
    apiVersion: "v1",
    kind: "Pod",
    metadata: {
      generateName: `${owner.metadata.name}-`,
      namespace: owner.metadata.namespace,
      labels: { ...labels },
      ...(annotations && { annotations: { ...annotations } }),
      ...(finalizers && { finalizers: [...finalizers] }),
      ownerReferences: [controllerReference(ownerKind, owner)],
    },
    spec: template.spec,
  };
}
