import type { EndpointSlice, Service } from "@fjord/kube";

export function testService(name: string, spec: Partial<NonNullable<Service["spec"]>> = {}): Service {
  return {
    apiVersion: "v1",
    kind: "Service",
    metadata: { name, namespace: "shop" },
    spec: {
      clusterIP: "127.96.0.1",
      clusterIPs: ["127.96.0.1"],
      ports: [{ name: "http", port: 80, targetPort: 8080 }],
      ...spec,
    },
  } as Service;
}

type Endpoints = EndpointSlice["endpoints"];

export function testSlice(service: string, port: number, endpoints: Endpoints, portName = "http"): EndpointSlice {
  return {
    apiVersion: "discovery.k8s.io/v1",
    kind: "EndpointSlice",
    metadata: { name: `${service}-1`, namespace: "shop", labels: { "kubernetes.io/service-name": service } },
    addressType: "IPv4",
    ports: [{ name: portName, port, protocol: "TCP" }],
    endpoints,
  } as EndpointSlice;
}
