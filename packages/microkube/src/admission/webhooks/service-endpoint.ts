import type { EndpointSlice, Service } from "@fjord/kube";
import type { Cluster } from "../../cluster.ts";
import { find, findAll } from "../../cluster-objects.ts";
import { inRange, parseIp, parseRange } from "../../kinds/values/ip-address.ts";

export interface ServicePort {
  readonly namespace: string;
  readonly name: string;
  readonly port: number;
}

export interface Address {
  readonly host: string;
  readonly port: number;
}

const forbidden = ["0.0.0.0/32", "169.254.0.0/16", "224.0.0.0/4", "::/128", "fe80::/10", "ff00::/8"].flatMap(
  (range) => parseRange(range) ?? [],
);

/** Where a service is reached: one of its ready endpoints, chosen by chance. Throws an `Error` where there is none. */
export function serviceEndpoint(cluster: Cluster, { namespace, name, port }: ServicePort): Address {
  const service = find<Service>(cluster, "Service", namespace, name);
  if (service === undefined) throw new Error(`service ${JSON.stringify(name)} not found`);
  const { type, externalName = "", ports = [] } = service.spec ?? {};
  if (type === "ExternalName") {
    // Where a cloud tells its machines their secrets, and what means many.
    const address = parseIp(externalName);
    if (address !== undefined && forbidden.some((range) => inRange(address, range))) {
      throw new Error(`service ${JSON.stringify(name)} leads to ${externalName}, which is not allowed`);
    }
    return { host: externalName, port };
  }
  const found = ports.find((one) => one.port === port);
  if (found === undefined) throw new Error(`no service port ${port} found for service ${JSON.stringify(name)}`);
  const slices = findAll<EndpointSlice>(cluster, "EndpointSlice", namespace, "discovery.k8s.io");
  const own = slices.filter(({ metadata }) => metadata.labels?.["kubernetes.io/service-name"] === name);
  const addresses = own.flatMap(({ endpoints = [], ports: of = [] }) => {
    const number = of.find((one) => (one.name ?? "") === (found.name ?? ""))?.port;
    if (number === undefined) return [];
    const ready = endpoints.filter(({ conditions }) => conditions?.ready ?? true);
    return ready.flatMap((endpoint) => endpoint.addresses.map((host) => ({ host, port: number })));
  });
  const chosen = addresses[Math.floor(cluster.random() * addresses.length)];
  if (chosen === undefined) throw new Error(`no endpoints available for service ${JSON.stringify(name)}`);
  return chosen;
}
