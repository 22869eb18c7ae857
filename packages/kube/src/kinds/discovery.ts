import type { Kind } from "@fjord/base";
import type { IEndpointSlice } from "kubernetes-models/discovery.k8s.io/v1/EndpointSlice";
import type { Typed } from "./typed.ts";

const group = { group: "discovery.k8s.io", version: "v1" } as const;

export type EndpointSlice = Typed<IEndpointSlice>;
export const EndpointSlice: Kind<EndpointSlice> = {
  ...group,
  kind: "EndpointSlice",
  plural: "endpointslices",
  namespaced: true,
};
