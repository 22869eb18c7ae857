import { isIPv6 } from "node:net";
import type { EndpointSlice, Node, Pod, Service } from "@fjord/kube";
import { isPodFinished, isPodReady, isPodTerminating } from "../workload/pod-state.ts";

export type Endpoint = NonNullable<EndpointSlice["endpoints"]>[number];
export type EndpointPort = NonNullable<EndpointSlice["ports"]>[number];
export type AddressType = "IPv4" | "IPv6";
type ServiceSpec = NonNullable<Service["spec"]>;
type ServicePort = NonNullable<ServiceSpec["ports"]>[number];

export const HEADLESS = "service.kubernetes.io/headless";
export const SERVICE_NAME = "kubernetes.io/service-name";
export const MANAGED_BY = "endpointslice.kubernetes.io/managed-by";

export function isHeadless({ spec }: Service): boolean {
  return spec?.clusterIP === "None" || spec?.clusterIP === undefined || spec.clusterIP === "";
}

export function addressTypesOf({ spec }: Service): AddressType[] {
  const families = spec?.ipFamilies as AddressType[] | undefined;
  if (families !== undefined && families.length > 0) return families;
  if (spec?.clusterIP && spec.clusterIP !== "None") return [isIPv6(spec.clusterIP) ? "IPv6" : "IPv4"];
  return ["IPv4", "IPv6"];
}

/** Whether a pod can be reached at all, now or while it is going away. */
export function isReachable(pod: Pod): boolean {
  return !isPodFinished(pod) && addressesOf(pod).length > 0;
}

function addressesOf({ status }: Pod): string[] {
  const all = (status?.podIPs ?? []).map(({ ip }) => ip);
  return all.length > 0 ? all : status?.podIP ? [status.podIP] : [];
}

export function podAddresses(pod: Pod, type: AddressType): string[] {
  return addressesOf(pod).filter((address) => isIPv6(address) === (type === "IPv6"));
}

/** The numbers of a service's ports on a pod; those that the pod does not name are left out. */
export function portsOn(pod: Pod, { spec }: Service): EndpointPort[] {
  return (spec?.ports ?? []).flatMap((port) => {
    const number = portNumber(pod, port);
    if (number === undefined) return [];
    const { name = "", protocol = "TCP", appProtocol } = port;
    return [{ name, port: number, protocol, ...(appProtocol !== undefined && { appProtocol }) }];
  });
}

function portNumber({ spec }: Pod, { port, targetPort, protocol = "TCP" }: ServicePort): number | undefined {
  if (typeof targetPort !== "string") return targetPort || port;
  const sidecars = spec?.initContainers?.filter(({ restartPolicy }) => restartPolicy === "Always") ?? [];
  for (const { ports = [] } of [...(spec?.containers ?? []), ...sidecars]) {
    const found = ports.find(({ name, protocol: own = "TCP" }) => name === targetPort && own === protocol);
    if (found !== undefined) return found.containerPort;
  }
  return undefined;
}

/** A pod as an endpoint of a service. */
export function forgeEndpoint(pod: Pod, node: Node | undefined, service: Service, type: AddressType): Endpoint {
  const serving = isPodReady(pod);
  const terminating = isPodTerminating(pod);
  const ready = service.spec?.publishNotReadyAddresses === true || (serving && !terminating);
  const { name, namespace, uid } = pod.metadata;
  const zone = node?.metadata.labels?.["topology.kubernetes.io/zone"];
  const hostname = hostnameIn(pod, service);
  return {
    addresses: podAddresses(pod, type),
    conditions: { ready, serving, terminating },
    ...(hostname !== undefined && { hostname }),
    ...(pod.spec?.nodeName && { nodeName: pod.spec.nodeName }),
    targetRef: { kind: "Pod", name, namespace, uid },
    ...(zone && { zone }),
  };
}

/** The name that a pod has below the service's, where it asked for one. */
export function hostnameIn({ spec, metadata }: Pod, service: Service): string | undefined {
  const isBelow = spec?.subdomain === service.metadata.name && metadata.namespace === service.metadata.namespace;
  return spec?.hostname && isBelow ? spec.hostname : undefined;
}

/** Whether an update of a pod can matter to any service. */
export function isReachedOtherwise(old: Pod, pod: Pod): boolean {
  return (
    isPodReady(old) !== isPodReady(pod) ||
    isPodTerminating(old) !== isPodTerminating(pod) ||
    isPodFinished(old) !== isPodFinished(pod) ||
    old.spec?.nodeName !== pod.spec?.nodeName ||
    addressesOf(old).join() !== addressesOf(pod).join() ||
    !sameLabels(old.metadata.labels, pod.metadata.labels)
  );
}

function sameLabels(a: Record<string, string> = {}, b: Record<string, string> = {}): boolean {
  const keys = Object.keys(a);
  return keys.length === Object.keys(b).length && keys.every((key) => a[key] === b[key]);
}
