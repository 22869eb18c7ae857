import type { Kind } from "@fjord/base";
import type { IPodDisruptionBudget } from "kubernetes-models/policy/v1/PodDisruptionBudget";
import type { Typed } from "./typed.ts";

const group = { group: "policy", version: "v1" } as const;

export type PodDisruptionBudget = Typed<IPodDisruptionBudget>;
export const PodDisruptionBudget: Kind<PodDisruptionBudget> = {
  ...group,
  kind: "PodDisruptionBudget",
  plural: "poddisruptionbudgets",
  namespaced: true,
};
