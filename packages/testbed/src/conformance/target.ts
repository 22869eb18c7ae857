import type { Substrate } from "../binaries/versions.ts";
import type { Kubelet } from "../nodes/kubelet-command.ts";

/**
 * What is judged. Of nodes: Fjord's, Kubernetes' own kubelet, or virtual nodes behind which another site has the
 * kubelets. Of control planes: microkube, with Fjord's node where containers are needed, or Kubernetes' own.
 */
export const conformanceTargets = ["fjord", "kubelet", "border", "microkube", "kubernetes"] as const;

export type ConformanceTarget = (typeof conformanceTargets)[number];
export type ControlPlaneTarget = "microkube" | "kubernetes";

export function isControlPlane(target: ConformanceTarget): target is ControlPlaneTarget {
  return target === "microkube" || target === "kubernetes";
}

/** Kubernetes' own, which others are compared with. */
export function referenceOf(target: ConformanceTarget): ConformanceTarget {
  return isControlPlane(target) ? "kubernetes" : "kubelet";
}

/** What a site with containers is made of. */
export interface TargetParts {
  /** @default the newest Kubernetes */
  readonly kubernetes?: Substrate;
  readonly kubelet: Kubelet;
}

export function partsOf(target: ConformanceTarget): TargetParts {
  if (target === "microkube") return { kubernetes: "microkube", kubelet: "fjord" };
  return { kubelet: target === "fjord" ? "fjord" : "kubernetes" };
}
