import type { Kind } from "@fjord/base";
import type { IRuntimeClass } from "kubernetes-models/node.k8s.io/v1/RuntimeClass";
import type { Typed } from "./typed.ts";

const group = { group: "node.k8s.io", version: "v1" } as const;

export type RuntimeClass = Typed<IRuntimeClass>;
export const RuntimeClass: Kind<RuntimeClass> = {
  ...group,
  kind: "RuntimeClass",
  plural: "runtimeclasses",
  namespaced: false,
};
