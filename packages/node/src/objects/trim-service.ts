import type { Service } from "@fjord/kube";

/** What environment variables are made of. A node keeps the services of the whole cluster, so the rest would add up. */
export function trimService(service: Service): Service {
  const { name, namespace, uid, resourceVersion } = service.metadata;
  const { clusterIP, clusterIPs, type, ports } = service.spec ?? {};
  return {
    apiVersion: service.apiVersion,
    kind: service.kind,
    metadata: { name, namespace, uid, resourceVersion },
    spec: { clusterIP, clusterIPs, type, ports },
  };
}
