import { EndpointSlice, Service } from "@fjord/kube";
import type { Body, ReflectedKind, TwinContext } from "../reflected-kind.ts";

type Endpoint = NonNullable<EndpointSlice["endpoints"]>[number];

const SERVICE_LABEL = "kubernetes.io/service-name";
/** Tells the provider's own controllers whose slice it is, so that they leave it alone. */
const MANAGED_BY_LABEL = "endpointslice.kubernetes.io/managed-by";
export const SLICE_KEEPER = "fjord.dev";

/**
 * What of a Service answers at other places than the site: those that run there are in the provider's own slices. There is no
 * twin where nothing is left to say.
 */
export const endpointSlices: ReflectedKind<EndpointSlice> = {
  kind: EndpointSlice,
  policy: "DenyList",
  follows: ["addresses"],
  companion: { kind: Service, nameOf: ({ metadata }) => metadata.labels?.[SERVICE_LABEL] },
  forge(slice, context) {
    const endpoints = (slice.endpoints ?? []).flatMap((endpoint) => endpointAt(endpoint, context) ?? []);
    if (endpoints.length === 0) return undefined;
    return { addressType: slice.addressType, endpoints, ports: slice.ports ?? [] };
  },
  seen: ({ addressType, endpoints, ports }): Body => ({ addressType, endpoints, ports: ports ?? [] }),
  neverLeaves: ({ metadata }) => metadata.namespace === "default" && metadata.labels?.[SERVICE_LABEL] === "kubernetes",
  // The provider's own slices of a twin have the labels of the Service too.
  marks: { [MANAGED_BY_LABEL]: SLICE_KEEPER },
  ownAnnotations: ["endpointslice.kubernetes.io/exceeded-max-endpoints"],
};

/** Without the names of the own nodes, zones and pods: the host name stays, since names in DNS are made of it. */
function endpointAt(endpoint: Endpoint, context: TwinContext): Endpoint | undefined {
  const { addresses, conditions = {}, hostname, nodeName } = endpoint;
  if (nodeName !== undefined && context.isNodeOfSite(nodeName)) return undefined;
  const isServing = conditions.ready !== false || conditions.serving === true;
  if (!isServing) return undefined;
  const translated = addresses.flatMap((address) => context.translateAddress(address, nodeName) ?? []);
  if (translated.length === 0) return undefined;
  return { addresses: translated, conditions, ...(hostname !== undefined && { hostname }) };
}
