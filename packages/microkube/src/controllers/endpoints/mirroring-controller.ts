import { isIP, isIPv6 } from "node:net";
import { EndpointSlice, Endpoints, formatRequest, Service, watches } from "@fjord/kube";
import type { ControlLoop } from "../control-loop.ts";
import { Loop } from "../loop.ts";
import { controllerReference } from "../ownership.ts";
import { type AddressType, type EndpointPort, MANAGED_BY, SERVICE_NAME } from "./endpoint-forge.ts";
import { type EndpointGroup, planSlices } from "./slice-plan.ts";
import { byService, SliceWriter } from "./slice-writer.ts";

const MANAGER = "endpointslicemirroring-controller.k8s.io";
const SKIP = "endpointslice.kubernetes.io/skip-mirror";
const LEADER = "control-plane.alpha.kubernetes.io/leader";
const NOT_COPIED = [
  "endpoints.kubernetes.io/last-change-trigger-time",
  "kubectl.kubernetes.io/last-applied-configuration",
];

/** Gives Endpoints that people wrote by hand their EndpointSlices. */
export const endpointSliceMirroringController: ControlLoop = (means) => {
  const loop = new Loop(means, "endpoint-slice-mirroring-controller");
  const services = loop.open(Service);
  const endpoints = loop.open(Endpoints);
  const slices = loop.open(EndpointSlice, { service: byService });
  const writer = new SliceWriter(means, slices, MANAGER);
  return loop.reconciles({
    sources: [
      watches(endpoints),
      watches(services),
      watches(slices, {
        when: ({ object }) => writer.isOwn(object),
        map: ({ metadata }) => [{ name: metadata.labels?.[SERVICE_NAME] ?? "", namespace: metadata.namespace }],
      }),
    ],
    async reconcile(request, { signal }) {
      const key = formatRequest(request);
      if (writer.isBehind(key)) return { type: "done" };
      const existing = writer.existing(key);
      const source = endpoints.get(request);
      const service = services.get(request);
      const isMirrored =
        source !== undefined &&
        service !== undefined &&
        service.spec?.selector === undefined &&
        source.metadata.labels?.[SKIP] !== "true" &&
        source.metadata.annotations?.[LEADER] === undefined;
      if (!isMirrored) {
        await writer.write(key, { create: [], update: [], delete: existing }, signal);
        return { type: "done" };
      }
      const plan = planSlices({
        groups: mirrorGroups(source),
        existing,
        forge: (type, ports) => forgeMirror(source, type, ports),
        isOwned: ({ metadata }) => metadata.ownerReferences?.some(({ uid }) => uid === source.metadata.uid) === true,
      });
      await writer.write(key, plan, signal);
      return { type: "done" };
    },
  });
};

export function mirrorGroups({ subsets = [] }: Endpoints): EndpointGroup[] {
  const groups = new Map<string, EndpointGroup>();
  for (const { addresses = [], notReadyAddresses = [], ports = [] } of subsets ?? []) {
    const slicePorts: EndpointPort[] = ports.map(({ name = "", protocol = "TCP", port, appProtocol }) => ({
      name,
      port,
      protocol,
      ...(appProtocol !== undefined && { appProtocol }),
    }));
    const add = (address: (typeof addresses)[number], ready: boolean) => {
      if (isIP(address.ip) === 0) return;
      const addressType: AddressType = isIPv6(address.ip) ? "IPv6" : "IPv4";
      const key = `${addressType} ${JSON.stringify(slicePorts)}`;
      const group = groups.get(key) ?? { addressType, ports: slicePorts, endpoints: [] };
      groups.set(key, group);
      const { ip, hostname, nodeName, targetRef } = address;
      group.endpoints.push({
        addresses: [ip],
        conditions: { ready },
        ...(hostname && { hostname }),
        ...(nodeName && { nodeName }),
        ...(targetRef && { targetRef }),
      });
    };
    for (const address of addresses) add(address, true);
    for (const address of notReadyAddresses) add(address, false);
  }
  return [...groups.values()];
}

function forgeMirror(source: Endpoints, addressType: AddressType, ports: readonly EndpointPort[]): EndpointSlice {
  const { name, namespace, labels, annotations = {} } = source.metadata;
  const copied = Object.fromEntries(Object.entries(annotations).filter(([key]) => !NOT_COPIED.includes(key)));
  return {
    apiVersion: "discovery.k8s.io/v1",
    kind: "EndpointSlice",
    metadata: {
      generateName: `${name}-`,
      namespace,
      labels: { ...labels, [SERVICE_NAME]: name ?? "", [MANAGED_BY]: MANAGER },
      ...(Object.keys(copied).length > 0 && { annotations: copied }),
      ownerReferences: [controllerReference(Endpoints, source)],
    },
    addressType,
    ports: [...ports],
    endpoints: [],
  };
}
