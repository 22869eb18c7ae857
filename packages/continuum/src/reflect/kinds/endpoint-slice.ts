import { EXPORTED_ANNOTATION } from "@fjord/api";
import { EndpointSlice, Service } from "@fjord/kube";
import {
  SERVICE_LABEL,
  SILENCED_ANNOTATION,
  SLICE_KEEPER,
  SLICE_KEEPER_LABEL,
  stillSilenced,
  toldEndpoints,
} from "../../silenced-endpoints.ts";
import type { Body, ReflectedKind, TwinContext } from "../reflected-kind.ts";

type Endpoint = NonNullable<EndpointSlice["endpoints"]>[number];

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
    // Names are no addresses: no provider leads anybody to them.
    if (slice.addressType === "FQDN") return undefined;
    const exported = slice.metadata.annotations?.[EXPORTED_ANNOTATION];
    if (exported !== undefined) return exportedAt(slice, exported, context);
    const endpoints = (slice.endpoints ?? []).flatMap((endpoint) => endpointAt(endpoint, context) ?? []);
    if (endpoints.length === 0) return undefined;
    return { addressType: slice.addressType, endpoints, ports: slice.ports ?? [] };
  },
  seen: ({ addressType, endpoints, ports, metadata }): Body => ({
    addressType,
    endpoints: toldEndpoints(endpoints, metadata.annotations),
    ports: ports ?? [],
  }),
  amended,
  neverLeaves: ({ metadata }) => metadata.namespace === "default" && metadata.labels?.[SERVICE_LABEL] === "kubernetes",
  // The provider's own slices of a twin have the labels of the Service too.
  marks: { [SLICE_KEEPER_LABEL]: SLICE_KEEPER },
  ownAnnotations: ["endpointslice.kubernetes.io/exceeded-max-endpoints"],
};

/** Endpoints are written as a whole. Those that the provider cannot reach stay left out, though others have changed: it would find them among those that are ready else, and send connections there until then. */
function amended(patch: Body, twin: EndpointSlice): Body {
  if (!Array.isArray(patch.endpoints)) return patch;
  const { endpoints, note } = stillSilenced(patch.endpoints as Endpoint[], twin);
  const { resourceVersion, annotations: before } = twin.metadata;
  const { annotations, ...metadata } = (patch.metadata ?? {}) as { annotations?: object };
  const isNoted = note !== undefined || before?.[SILENCED_ANNOTATION] !== undefined;
  const notes = { ...annotations, ...(isNoted && { [SILENCED_ANNOTATION]: note ?? null }) };
  // The provider may have silenced some, or given them back, since it was looked at.
  return { ...patch, endpoints, metadata: { ...metadata, resourceVersion, annotations: notes } };
}

/** What the own site exports is led there by its gateway: the site has a name for what stands for it, or there is no way. */
function exportedAt(
  { addressType, ports = [], endpoints = [] }: EndpointSlice,
  exported: string,
  context: TwinContext,
) {
  const [, address = "", port = ""] = /^\[?([^\]]+)\]?:(\d+)$/.exec(exported) ?? [];
  const called = context.translateAddress(address);
  if (called === undefined || called === address || endpoints.length === 0) return undefined;
  return {
    addressType,
    endpoints: [{ addresses: [called], conditions: { ready: true } }],
    ports: ports.map((each) => ({ ...each, port: Number(port) })),
  };
}

/** Without the names of the own nodes, zones and pods: the host name stays, since names in DNS are made of it. */
function endpointAt(endpoint: Endpoint, context: TwinContext): Endpoint | undefined {
  const { addresses, hostname, nodeName } = endpoint;
  if (nodeName !== undefined && context.isNodeOfSite(nodeName)) return undefined;
  const conditions = conditionsAt(endpoint, context);
  const isServing = conditions.ready !== false || conditions.serving === true;
  if (!isServing) return undefined;
  const translated = addresses.flatMap((address) => context.translateAddress(address, nodeName) ?? []);
  if (translated.length === 0) return undefined;
  return { addresses: translated, conditions, ...(hostname !== undefined && { hostname }) };
}

/** A pod that cannot be reached from here may be reached from there: that is the site's own to find out. */
function conditionsAt(
  { conditions = {}, targetRef }: Endpoint,
  context: TwinContext,
): NonNullable<Endpoint["conditions"]> {
  if (conditions.ready !== false || conditions.serving === true || targetRef?.kind !== "Pod") return conditions;
  if (!context.isReadyApart(targetRef.name ?? "")) return conditions;
  return { ...conditions, ready: conditions.terminating !== true, serving: true };
}
