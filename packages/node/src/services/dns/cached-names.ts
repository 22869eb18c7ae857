import type { Cache, EndpointSlice, Namespace, Service } from "@fjord/kube";
import type { NameSource } from "./cluster-names.ts";

/** Names from what a node follows anyway, and the cluster's namespaces. */
export function cachedNames(
  services: Cache<Service>,
  slices: Cache<EndpointSlice>,
  namespaces: Cache<Namespace>,
): NameSource {
  services.addIndex("address", ({ spec }) => spec?.clusterIPs ?? []);
  return {
    service: (namespace, name) => services.get({ namespace, name }),
    slices: (namespace, name) => slices.byIndex("service", `${namespace}/${name}`),
    hasNamespace: (name) => namespaces.get({ name }) !== undefined,
    serviceAt: (ip) => services.byIndex("address", ip)[0],
  };
}
