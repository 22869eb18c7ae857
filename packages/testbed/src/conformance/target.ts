import type { Kubelet } from "../nodes/kubelet-command.ts";

/** What is judged: Fjord's node, Kubernetes' own kubelet, or virtual nodes behind which another site has the kubelets. */
export const conformanceTargets = ["fjord", "kubelet", "border"] as const;

export type ConformanceTarget = (typeof conformanceTargets)[number];

export function kubeletOfTarget(target: ConformanceTarget): Kubelet {
  return target === "fjord" ? "fjord" : "kubernetes";
}
