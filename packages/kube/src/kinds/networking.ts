import type { Kind } from "@fjord/base";
import type { IIngress } from "kubernetes-models/networking.k8s.io/v1/Ingress";
import type { IIngressClass } from "kubernetes-models/networking.k8s.io/v1/IngressClass";
import type { IIPAddress } from "kubernetes-models/networking.k8s.io/v1/IPAddress";
import type { INetworkPolicy } from "kubernetes-models/networking.k8s.io/v1/NetworkPolicy";
import type { IServiceCIDR } from "kubernetes-models/networking.k8s.io/v1/ServiceCIDR";
import type { Typed } from "./typed.ts";

const group = { group: "networking.k8s.io", version: "v1" } as const;

export type Ingress = Typed<IIngress>;
export const Ingress: Kind<Ingress> = { ...group, kind: "Ingress", plural: "ingresses", namespaced: true };

export type IngressClass = Typed<IIngressClass>;
export const IngressClass: Kind<IngressClass> = {
  ...group,
  kind: "IngressClass",
  plural: "ingressclasses",
  namespaced: false,
};

export type NetworkPolicy = Typed<INetworkPolicy>;
export const NetworkPolicy: Kind<NetworkPolicy> = {
  ...group,
  kind: "NetworkPolicy",
  plural: "networkpolicies",
  namespaced: true,
};

export type IPAddress = Typed<IIPAddress>;
export const IPAddress: Kind<IPAddress> = { ...group, kind: "IPAddress", plural: "ipaddresses", namespaced: false };

export type ServiceCIDR = Typed<IServiceCIDR>;
export const ServiceCIDR: Kind<ServiceCIDR> = {
  ...group,
  kind: "ServiceCIDR",
  plural: "servicecidrs",
  namespaced: false,
};
