import type { Kind } from "@fjord/base";
import type { ICustomResourceDefinition } from "kubernetes-models/apiextensions.k8s.io/v1/CustomResourceDefinition";
import type { Typed } from "./typed.ts";

const group = { group: "apiextensions.k8s.io", version: "v1" } as const;

export type CustomResourceDefinition = Typed<ICustomResourceDefinition>;
export const CustomResourceDefinition: Kind<CustomResourceDefinition> = {
  ...group,
  kind: "CustomResourceDefinition",
  plural: "customresourcedefinitions",
  namespaced: false,
};
