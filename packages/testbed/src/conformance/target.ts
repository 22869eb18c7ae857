import type { Kubelet } from "../nodes/kubelet-command.ts";

/** Whose nodes are judged. */
export const conformanceTargets = ["fjord", "kubelet"] as const;

export type ConformanceTarget = (typeof conformanceTargets)[number];

export function kubeletOfTarget(target: ConformanceTarget): Kubelet {
  return target === "fjord" ? "fjord" : "kubernetes";
}
