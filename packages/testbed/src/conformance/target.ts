import type { Kubelet } from "../nodes/kubelet-command.ts";

/**
 * What is judged. Of nodes: Fjord's, Kubernetes' own kubelet, or virtual nodes behind which another site has the
 * kubelets. Of control planes: microkube, or Kubernetes' own.
 */
export const conformanceTargets = ["fjord", "kubelet", "border", "microkube", "kubernetes"] as const;

export type ConformanceTarget = (typeof conformanceTargets)[number];
export type NodeTarget = Exclude<ConformanceTarget, ControlPlaneTarget>;
export type ControlPlaneTarget = "microkube" | "kubernetes";

export function isControlPlane(target: ConformanceTarget): target is ControlPlaneTarget {
  return target === "microkube" || target === "kubernetes";
}

/** Kubernetes' own, which others are compared with. */
export function referenceOf(target: ConformanceTarget): ConformanceTarget {
  return isControlPlane(target) ? "kubernetes" : "kubelet";
}

export function kubeletOfTarget(target: NodeTarget): Kubelet {
  return target === "fjord" ? "fjord" : "kubernetes";
}
