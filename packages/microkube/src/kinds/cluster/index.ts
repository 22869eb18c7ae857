import type { KindDefinition } from "../kind.ts";
import { type CompleteMeans, endpointRules } from "../kind-means.ts";
import { admissionPolicyKinds } from "./admission-policies.ts";
import { mutatingWebhookConfiguration, validatingWebhookConfiguration } from "./admission-webhooks.ts";
import { apiService } from "./api-service.ts";
import { certificateSigningRequest } from "./certificate-signing-request.ts";
import { endpointSlice } from "./endpoint-slice.ts";
import { flowSchema } from "./flow-schema.ts";
import { networkPolicy } from "./network-policy.ts";
import { ingress, ingressClass, ipAddress, serviceCidr } from "./networking.ts";
import { priorityLevelConfiguration } from "./priority-level.ts";
import { rbacKinds } from "./rbac.ts";
import { reviewKinds } from "./reviews.ts";
import { lease, priorityClass, runtimeClass } from "./scheduling.ts";
import { storageKinds } from "./storage.ts";

/** What serves the cluster rather than one workload: networks, storage, rights, admission. */
export function clusterKinds(means: CompleteMeans): KindDefinition[] {
  return [
    ...admissionPolicyKinds,
    mutatingWebhookConfiguration,
    validatingWebhookConfiguration,
    apiService,
    certificateSigningRequest,
    endpointSlice(endpointRules(means)),
    flowSchema,
    priorityLevelConfiguration,
    networkPolicy,
    ingress,
    ingressClass,
    ipAddress,
    serviceCidr,
    ...rbacKinds,
    ...reviewKinds(means),
    lease,
    priorityClass,
    runtimeClass,
    ...storageKinds,
    // Its rules are those of the machinery of custom resources.
    { group: "apiextensions.k8s.io", kind: "CustomResourceDefinition", hasStatus: true, generation: "spec" },
  ];
}
