import { byNamespace, Endpoints, isAlreadyExists, Pod, requestFor, Service, updatesWhere, watches } from "@fjord/kube";
import type { ControlLoop } from "../control-loop.ts";
import { isNamespaceTerminating, Loop, unlessGone } from "../loop.ts";
import { sameValue } from "../same-value.ts";
import { HEADLESS, isHeadless, isReachedOtherwise } from "./endpoint-forge.ts";
import { selectsPod, servicesOf } from "./endpoint-slice-controller.ts";
import { subsetsOf } from "./subsets.ts";

const MANAGED_BY = "endpoints.kubernetes.io/managed-by";
const MANAGER = "endpoint-controller";
const OVER_CAPACITY = "endpoints.kubernetes.io/over-capacity";

/** Lists the pods of each service with a selector in the older Endpoints objects. */
export const endpointsController: ControlLoop = (means) => {
  const { client } = means;
  const loop = new Loop(means, MANAGER);
  const services = loop.open(Service, { namespace: byNamespace });
  const pods = loop.open(Pod, { namespace: byNamespace });
  const endpoints = loop.open(Endpoints);
  return loop.reconciles({
    sources: [
      watches(services),
      watches(pods, {
        when: updatesWhere(isReachedOtherwise),
        map: (pod) => servicesOf(pod, services.byIndex("namespace", pod.metadata.namespace ?? "")),
      }),
      watches(endpoints, { when: ({ type }) => type === "delete" }),
    ],
    concurrency: 10,
    async reconcile(request, { signal }) {
      const service = services.get(request);
      const found = endpoints.get(request);
      if (service === undefined) {
        // Without a service of that name, but for those that others look after.
        if (found === undefined || found.metadata.labels?.[MANAGED_BY] !== MANAGER) return { type: "done" };
        const preconditions = { uid: found.metadata.uid };
        await unlessGone(client.delete(Endpoints, request, { preconditions, signal }));
        return { type: "done" };
      }
      if (service.spec?.selector === undefined || service.spec.type === "ExternalName") return { type: "done" };
      const own = pods.byIndex("namespace", request.namespace ?? "").filter((pod) => selectsPod(service, pod));
      const { subsets, truncated } = subsetsOf(service, own);
      const { [OVER_CAPACITY]: _, ...annotations } = found?.metadata.annotations ?? {};
      if (truncated) annotations[OVER_CAPACITY] = "truncated";
      const labels = {
        ...service.metadata.labels,
        ...(isHeadless(service) && { [HEADLESS]: "" }),
        [MANAGED_BY]: MANAGER,
      };
      const isSame =
        found !== undefined &&
        sameValue(found.subsets ?? [], subsets) &&
        sameValue(found.metadata.labels ?? {}, labels) &&
        sameValue(found.metadata.annotations ?? {}, annotations);
      if (isSame) return { type: "done" };
      const metadata = { ...requestFor(service), ...found?.metadata, labels, annotations };
      const wanted: Endpoints = { apiVersion: "v1", kind: "Endpoints", metadata, subsets };
      try {
        if (found === undefined) await client.create(Endpoints, wanted, { signal });
        else await client.update(Endpoints, wanted, { signal });
      } catch (error) {
        if (!isNamespaceTerminating(error) && !isAlreadyExists(error)) throw error;
      }
      return { type: "done" };
    },
  });
};
