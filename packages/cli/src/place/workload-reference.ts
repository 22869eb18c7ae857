import type { Kind, KubeObject } from "@fjord/base";
import { DaemonSet, Deployment, Job, Pod, ReplicaSet, StatefulSet } from "@fjord/kube";
import { AmbiguousTarget } from "../errors.ts";

export interface WorkloadReference {
  readonly kind: Kind<KubeObject>;
  readonly name: string;
}

const names: readonly (readonly [Kind<never>, readonly string[]])[] = [
  [Pod as Kind<never>, ["pod", "pods", "po"]],
  [Deployment as Kind<never>, ["deployment", "deployments", "deploy", "deployment.apps"]],
  [StatefulSet as Kind<never>, ["statefulset", "statefulsets", "sts", "statefulset.apps"]],
  [DaemonSet as Kind<never>, ["daemonset", "daemonsets", "ds", "daemonset.apps"]],
  [ReplicaSet as Kind<never>, ["replicaset", "replicasets", "rs", "replicaset.apps"]],
  [Job as Kind<never>, ["job", "jobs", "job.batch"]],
];

/** Reads `web`, which is a pod, `deployment/web`, or the two words `deployment web`. */
export function workloadReference(
  words: readonly string[],
  otherwise: Kind<KubeObject> = Pod as Kind<KubeObject>,
): WorkloadReference {
  const target = words.join(" ");
  const [type, name, ...more] = words.length === 1 ? (words[0] ?? "").split("/") : words;
  if (more.length > 0 || type === undefined || type === "" || name === "")
    throw new AmbiguousTarget({ target, reason: "it must be NAME or TYPE/NAME" });
  if (name === undefined) return { kind: otherwise, name: type };
  const kind = names.find(([, known]) => known.includes(type.toLowerCase()))?.[0];
  if (kind === undefined) {
    const known = names.map(([, [first]]) => first).join(", ");
    throw new AmbiguousTarget({ target, reason: `there is no type ${type} among ${known}` });
  }
  return { kind: kind as unknown as Kind<KubeObject>, name };
}
