import {
  byNamespace,
  EndpointSlice,
  formatRequest,
  isBeingDeleted,
  Node,
  Pod,
  requestFor,
  Service,
  updatesWhere,
  watches,
} from "@fjord/kube";
import type { ControlLoop } from "../control-loop.ts";
import { includesLabels, type Labels } from "../label-selector.ts";
import { again, Loop } from "../loop.ts";
import { controllerReference } from "../ownership.ts";
import {
  type AddressType,
  addressTypesOf,
  type EndpointPort,
  forgeEndpoint,
  HEADLESS,
  isHeadless,
  isReachable,
  isReachedOtherwise,
  MANAGED_BY,
  podAddresses,
  portsOn,
  SERVICE_NAME,
} from "./endpoint-forge.ts";
import { type EndpointGroup, planSlices } from "./slice-plan.ts";
import { byService, SliceWriter } from "./slice-writer.ts";

const MANAGER = "endpointslice-controller.k8s.io";

/** Lists the pods of each service with a selector in EndpointSlices. */
export const endpointSliceController: ControlLoop = (means) => {
  const loop = new Loop(means, "endpoint-slice-controller");
  const services = loop.open(Service, { namespace: byNamespace });
  const pods = loop.open(Pod, { namespace: byNamespace });
  const nodes = loop.open(Node);
  const slices = loop.open(EndpointSlice, { service: byService });
  const writer = new SliceWriter(means, slices, MANAGER);
  return loop.reconciles({
    sources: [
      watches(services),
      watches(pods, {
        when: updatesWhere(isReachedOtherwise),
        map: (pod) => servicesOf(pod, services.byIndex("namespace", pod.metadata.namespace ?? "")),
      }),
      watches(slices, {
        when: ({ object }) => writer.isOwn(object),
        map: ({ metadata }) => [{ name: metadata.labels?.[SERVICE_NAME] ?? "", namespace: metadata.namespace }],
      }),
    ],
    concurrency: 10,
    async reconcile(request, { signal }) {
      const key = formatRequest(request);
      const service = services.get(request);
      // What was a service's goes with it, by its owner reference.
      if (service === undefined || isBeingDeleted(service) || service.spec?.type === "ExternalName") {
        return { type: "done" };
      }
      if (service.spec?.selector === undefined || writer.isBehind(key)) return { type: "done" };
      const found = pods.byIndex("namespace", request.namespace ?? "").filter((pod) => selectsPod(service, pod));
      const types = addressTypesOf(service);
      const plan = planSlices({
        groups: groupsOf(service, found, types, (name) => nodes.get({ name })),
        existing: writer.existing(key),
        forge: (type, ports) => forgeSlice(service, type, ports),
        isOwned: ({ metadata, addressType }) =>
          types.includes(addressType as AddressType) &&
          metadata.ownerReferences?.some(({ uid }) => uid === service.metadata.uid) === true,
        placeholders: types,
      });
      await writer.write(key, plan, signal);
      // A node may be a moment behind its pods.
      const isEarly = found.some(
        (pod) => isReachable(pod) && nodes.get({ name: pod.spec?.nodeName ?? "" }) === undefined,
      );
      return isEarly ? again(2_000) : { type: "done" };
    },
  });
};

export function selectsPod({ spec }: Service, { metadata }: Pod): boolean {
  const selector: Labels = spec?.selector ?? {};
  return spec?.selector !== undefined && includesLabels(metadata.labels, selector);
}

export function* servicesOf(pod: Pod, services: readonly Service[]) {
  for (const service of services) if (selectsPod(service, pod)) yield requestFor(service);
}

/** The endpoints that a service should have, by family and by which ports they have. */
export function groupsOf(
  service: Service,
  pods: readonly Pod[],
  types: readonly AddressType[],
  nodeOf: (name: string) => Node | undefined,
): EndpointGroup[] {
  const groups = new Map<string, EndpointGroup>();
  for (const pod of pods.filter(isReachable)) {
    const ports = portsOn(pod, service);
    const node = nodeOf(pod.spec?.nodeName ?? "");
    // A pod on a node that is gone answers to nobody.
    if (node === undefined && !service.spec?.publishNotReadyAddresses) continue;
    for (const addressType of types) {
      if (podAddresses(pod, addressType).length === 0) continue;
      const key = `${addressType} ${JSON.stringify(ports)}`;
      const group = groups.get(key) ?? { addressType, ports, endpoints: [] };
      groups.set(key, group);
      group.endpoints.push(forgeEndpoint(pod, node, service, addressType));
    }
  }
  return [...groups.values()];
}

function forgeSlice(service: Service, addressType: AddressType, ports: readonly EndpointPort[]): EndpointSlice {
  const { name, namespace, labels = {} } = service.metadata;
  const reserved = [HEADLESS, SERVICE_NAME, MANAGED_BY];
  const own = Object.fromEntries(Object.entries(labels).filter(([label]) => !reserved.includes(label)));
  return {
    apiVersion: "discovery.k8s.io/v1",
    kind: "EndpointSlice",
    metadata: {
      generateName: `${name}-`,
      namespace,
      labels: {
        ...own,
        ...(isHeadless(service) && { [HEADLESS]: "" }),
        [SERVICE_NAME]: name ?? "",
        [MANAGED_BY]: MANAGER,
      },
      ownerReferences: [controllerReference(Service, service)],
    },
    addressType,
    ports: [...ports],
    endpoints: [],
  };
}
