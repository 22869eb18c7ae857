import type { IService } from "kubernetes-models/v1/Service";
import type { DraftObject } from "../kind.ts";

export type Service = DraftObject<IService>;
export type ServiceSpec = NonNullable<Service["spec"]>;

export const isHeadless = ({ clusterIPs = [] }: ServiceSpec): boolean =>
  clusterIPs.length === 1 && clusterIPs[0] === "None";
export const needsAddress = ({ type }: ServiceSpec): boolean => type !== "ExternalName";
export const hasNodePorts = ({ type }: ServiceSpec): boolean => type === "NodePort" || type === "LoadBalancer";
/** A load balancer may do without node ports. */
export const allocatesNodePorts = (spec: ServiceSpec): boolean =>
  spec.type === "NodePort" || (spec.type === "LoadBalancer" && spec.allocateLoadBalancerNodePorts !== false);
export const needsHealthCheckPort = ({ type, externalTrafficPolicy }: ServiceSpec): boolean =>
  type === "LoadBalancer" && externalTrafficPolicy === "Local";
export const isExternallyAccessible = (spec: ServiceSpec): boolean =>
  hasNodePorts(spec) || (spec.type === "ClusterIP" && (spec.externalIPs ?? []).length > 0);

/** The node ports of a service, its health check's among them. */
export function nodePortsOf(spec: ServiceSpec | undefined): number[] {
  const ports = (spec?.ports ?? []).map(({ nodePort = 0 }) => nodePort);
  return [...ports, spec?.healthCheckNodePort ?? 0].filter((port) => port !== 0);
}

/** The addresses that a service holds. */
export function addressesOf(spec: ServiceSpec | undefined): string[] {
  if (spec === undefined || !needsAddress(spec) || isHeadless(spec)) return [];
  return (spec.clusterIPs ?? []).filter((ip) => ip !== undefined && ip !== "") as string[];
}
