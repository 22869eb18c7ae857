import type { Kind } from "@fjord/base";
import type { IHorizontalPodAutoscaler } from "kubernetes-models/autoscaling/v2/HorizontalPodAutoscaler";
import type { Typed } from "./typed.ts";

const group = { group: "autoscaling", version: "v2" } as const;

export type HorizontalPodAutoscaler = Typed<IHorizontalPodAutoscaler>;
export const HorizontalPodAutoscaler: Kind<HorizontalPodAutoscaler> = {
  ...group,
  kind: "HorizontalPodAutoscaler",
  plural: "horizontalpodautoscalers",
  namespaced: true,
};
