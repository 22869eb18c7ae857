import type { KindDefinition } from "../kind.ts";
import { type CompleteMeans, endpointRules } from "../kind-means.ts";
import { pod } from "../pod/pod.ts";
import { service } from "../service/service.ts";
import { binding } from "./binding.ts";
import { componentStatus } from "./component-status.ts";
import { configMap } from "./config-map.ts";
import { endpoints } from "./endpoints.ts";
import { event, newEvent } from "./event.ts";
import { limitRange } from "./limit-range.ts";
import { namespace } from "./namespace.ts";
import { node } from "./node.ts";
import { persistentVolume } from "./persistent-volume.ts";
import { persistentVolumeClaim } from "./persistent-volume-claim.ts";
import { podTemplate } from "./pod-template.ts";
import { resourceQuota } from "./resource-quota.ts";
import { secret } from "./secret.ts";
import { serviceAccount } from "./service-account.ts";

/** The core group, and the events of the group that shows them anew. */
export function coreKinds(means: CompleteMeans): KindDefinition[] {
  return [
    binding,
    componentStatus,
    configMap,
    endpoints(endpointRules(means)),
    event,
    newEvent,
    limitRange,
    namespace,
    node,
    persistentVolume,
    persistentVolumeClaim,
    pod,
    podTemplate,
    resourceQuota,
    secret,
    service(means),
    serviceAccount(means),
  ];
}
