import type { Authorizer } from "../authorization/authorizer.ts";
import { escalationCheck } from "../authorization/escalation.ts";
import type { RoleIndex } from "../authorization/role-index.ts";
import type { AdmissionPlugin } from "./admission.ts";
import { certificateApproval, certificateSigning, certificateSubjectRestriction } from "./certificate-requests.ts";
import { defaultIngressClass, defaultStorageClass } from "./default-class.ts";
import { limitRanger } from "./limit-ranger.ts";
import { namespaceLifecycle } from "./namespace-lifecycle.ts";
import { nodeRestriction } from "./node-restriction.ts";
import { defaultTolerationSeconds, podTopologyLabels, taintNodesByCondition } from "./pod-defaults.ts";
import { podSecurity } from "./pod-security/pod-security.ts";
import { priority } from "./priority.ts";
import { ResourceQuotaPlugin } from "./quota/resource-quota.ts";
import { runtimeClass } from "./runtime-class.ts";
import { serviceAccount } from "./service-account.ts";
import { persistentVolumeClaimResize, storageObjectInUseProtection } from "./storage-protection.ts";

export interface DefaultPluginsOptions {
  readonly authorizer: Authorizer;
  readonly roles: RoleIndex;
  /** Those that others bring: webhooks and policies. They come after all built-in ones but quota. */
  readonly extensions?: readonly AdmissionPlugin[];
}

/**
 * The plugins that are on by default in Kubernetes, and NodeRestriction, in its order. Quota is last: what it has taken
 * for a request is not to be refused by another.
 */
export function defaultPlugins({ authorizer, roles, extensions = [] }: DefaultPluginsOptions): AdmissionPlugin[] {
  return [
    namespaceLifecycle,
    limitRanger,
    serviceAccount,
    nodeRestriction(authorizer),
    taintNodesByCondition,
    podSecurity,
    priority,
    defaultTolerationSeconds,
    defaultStorageClass,
    storageObjectInUseProtection,
    persistentVolumeClaimResize,
    runtimeClass,
    certificateApproval(authorizer),
    certificateSigning(authorizer),
    certificateSubjectRestriction,
    defaultIngressClass,
    podTopologyLabels,
    escalationCheck(authorizer, roles),
    ...extensions,
    new ResourceQuotaPlugin(),
  ];
}
