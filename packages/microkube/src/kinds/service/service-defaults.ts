import { hasNodePorts, isExternallyAccessible, type Service } from "./service-shape.ts";

const affinitySeconds = 10800;

export function defaultService({ spec, status }: Service): void {
  if (spec === undefined) return;
  spec.sessionAffinity ||= "None";
  if (spec.sessionAffinity === "None") delete spec.sessionAffinityConfig;
  if (spec.sessionAffinity === "ClientIP" && spec.sessionAffinityConfig?.clientIP?.timeoutSeconds === undefined) {
    spec.sessionAffinityConfig = { clientIP: { timeoutSeconds: affinitySeconds } };
  }
  spec.type ||= "ClusterIP";
  for (const port of spec.ports ?? []) {
    port.protocol ||= "TCP";
    if (!port.targetPort) port.targetPort = port.port ?? 0;
  }
  if (isExternallyAccessible(spec)) spec.externalTrafficPolicy ||= "Cluster";
  if (hasNodePorts(spec) || spec.type === "ClusterIP") spec.internalTrafficPolicy ??= "Cluster";
  if (spec.type !== "LoadBalancer") return;
  spec.allocateLoadBalancerNodePorts ??= true;
  for (const ingress of status?.loadBalancer?.ingress ?? []) if (ingress.ip) ingress.ipMode ??= "VIP";
}
