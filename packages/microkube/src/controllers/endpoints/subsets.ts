import type { Endpoints, Pod, Service } from "@fjord/kube";
import { isPodReady, isPodTerminating } from "../workload/pod-state.ts";
import {
  type AddressType,
  addressTypesOf,
  hostnameIn,
  isHeadless,
  isReachable,
  podAddresses,
  portsOn,
} from "./endpoint-forge.ts";

export type Subset = NonNullable<Endpoints["subsets"]>[number];
type Address = NonNullable<Subset["addresses"]>[number];
type Port = NonNullable<Subset["ports"]>[number];

/** More than this no Endpoints object holds; those that are ready come first. */
const MOST = 1000;

/** The pods of a service as an Endpoints object has them: together those that have the same ports. */
export function subsetsOf(service: Service, pods: readonly Pod[]): { subsets: Subset[]; truncated: boolean } {
  const groups = new Map<string, { ports: Port[]; ready: Address[]; notReady: Address[] }>();
  const [family = "IPv4"] = addressTypesOf(service);
  const publishAll = service.spec?.publishNotReadyAddresses === true;
  let count = 0;
  const sorted = pods.toSorted((a, b) => Number(isPodReady(b)) - Number(isPodReady(a)));
  for (const pod of sorted) {
    if (!isReachable(pod) || (isPodTerminating(pod) && !publishAll)) continue;
    const ports = portsOn(pod, service).map(({ name, ...port }) => ({ ...(name && { name }), ...port })) as Port[];
    if (ports.length === 0 && !(isHeadless(service) && !service.spec?.ports?.length)) continue;
    const address = forgeAddress(pod, service, family);
    if (address === undefined) continue;
    count++;
    if (count > MOST) continue;
    const key = JSON.stringify(ports);
    const group = groups.get(key) ?? { ports, ready: [], notReady: [] };
    groups.set(key, group);
    (publishAll || isPodReady(pod) ? group.ready : group.notReady).push(address);
  }
  const subsets = [...groups.values()].map(({ ports, ready, notReady }) => ({
    ...(ready.length > 0 && { addresses: ready.toSorted(byAddress) }),
    ...(notReady.length > 0 && { notReadyAddresses: notReady.toSorted(byAddress) }),
    ...(ports.length > 0 && { ports }),
  }));
  return {
    subsets: subsets.toSorted((a, b) => compare(JSON.stringify(a.ports), JSON.stringify(b.ports))),
    truncated: count > MOST,
  };
}

function forgeAddress(pod: Pod, service: Service, family: AddressType): Address | undefined {
  const [ip] = podAddresses(pod, family);
  if (ip === undefined) return undefined;
  const { name, namespace, uid } = pod.metadata;
  const hostname = hostnameIn(pod, service);
  return {
    ip,
    ...(hostname !== undefined && { hostname }),
    ...(pod.spec?.nodeName && { nodeName: pod.spec.nodeName }),
    targetRef: { kind: "Pod", name, namespace, uid },
  };
}

function byAddress(a: Address, b: Address): number {
  const parts = ({ ip }: Address) =>
    ip
      .split(".")
      .map((part) => part.padStart(3, "0"))
      .join(".");
  return compare(parts(a), parts(b)) || compare(a.targetRef?.uid, b.targetRef?.uid);
}

function compare(a = "", b = ""): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
