import type { Kind } from "@fjord/base";
import type { IPriorityClass } from "kubernetes-models/scheduling.k8s.io/v1/PriorityClass";
import type { Typed } from "./typed.ts";

const group = { group: "scheduling.k8s.io", version: "v1" } as const;

export type PriorityClass = Typed<IPriorityClass>;
export const PriorityClass: Kind<PriorityClass> = {
  ...group,
  kind: "PriorityClass",
  plural: "priorityclasses",
  namespaced: false,
};
